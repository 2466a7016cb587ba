import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Mutation, Resolver, Root } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permit, permitOn } from "../../../src/keys/auth/permissions.ts";
import type { ManagementKey } from "../../../src/keys/management-keys/management-key.service.ts";
import { chooseScopes } from "../../../src/keys/management-keys/preset.ts";
import { keyCursor } from "../../../src/keys/shared/key.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { runSecretOnce } from "../../shared/once.ts";
import { type Connection, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { AccountType } from "../account/account.type.ts";
import {
  CreateManagementKeyInput,
  CreateManagementKeyPayload,
  ManagementKeyConnection,
  RevokeManagementKeyInput,
  RevokeManagementKeyPayload,
  UpdateManagementKeyInput,
  UpdateManagementKeyPayload,
} from "./management-key.type.ts";
import { ManagementKeysArgs } from "./management-key-filter.type.ts";

/** The account's `mk-` keys, for wallet sessions only. */
@Resolver(() => AccountType)
export class ManagementKeyResolver {
  @Requires("management-key.read")
  @FieldResolver(() => ManagementKeyConnection, {
    nullable: true,
    description:
      "The account's `mk-` keys, or those that match a filter, oldest first. Requires a wallet session.",
  })
  async managementKeys(
    @Root() { address }: AccountType,
    @Args(() => ManagementKeysArgs) args: ManagementKeysArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<ManagementKey>> {
    permitOn(principal, "management-key.read", address);
    const statuses = args.filter?.statuses ?? undefined;
    const page = await services.managementKeys.list(address, toPageRequest(args), statuses);
    return toConnection(
      page,
      (key) => keyCursor("management-key", key),
      () => services.managementKeys.count(address, statuses),
    );
  }

  @Requires("management-key.create")
  @Mutation(() => CreateManagementKeyPayload, {
    nullable: true,
    description:
      "Creates an `mk-` key with the scopes of a preset or a list of scopes. Requires a wallet session.",
  })
  async createManagementKey(
    @Arg("input", () => CreateManagementKeyInput, { description: "The key to create." })
    { idempotencyKey, ...input }: CreateManagementKeyInput,
    @Ctx() context: Context,
  ): Promise<CreateManagementKeyPayload> {
    const account = permit(context.principal, "management-key.create").account;
    const call = {
      account,
      requestId: newRequestId(),
      field: "createManagementKey",
      key: idempotencyKey,
      input,
    };
    const { name, preset, scopes } = input;
    return answerMutation(input, () =>
      runSecretOnce(context, call, async () => {
        const chosen = chooseScopes({ preset: preset ?? undefined, scopes: scopes ?? undefined });
        if (!chosen) throw new AppError("invalid_parameter", "Give scopes or a preset.", { param: "scopes" });
        const { key, secret } = await context.services.managementKeys.create(account, name, chosen);
        return { secret, managementKey: key };
      }),
    );
  }

  @Requires("management-key.update")
  @Mutation(() => UpdateManagementKeyPayload, {
    nullable: true,
    description: "Updates the name or scopes of an `mk-` key. Requires a wallet session.",
  })
  async updateManagementKey(
    @Arg("input", () => UpdateManagementKeyInput, { description: "The changes." })
    input: UpdateManagementKeyInput,
    @Ctx() { services, principal }: Context,
  ): Promise<UpdateManagementKeyPayload> {
    const account = permit(principal, "management-key.update").account;
    const { id, name, preset, scopes } = input;
    const change = { name: name ?? undefined, preset: preset ?? undefined, scopes: scopes ?? undefined };
    return answerMutation(input, async () => ({
      managementKey: await services.managementKeys.update(account, readKeyOf("ManagementKey", id), change),
    }));
  }

  @Requires("management-key.revoke")
  @Mutation(() => RevokeManagementKeyPayload, {
    nullable: true,
    description: "Revokes an `mk-` key. Idempotent. Requires a wallet session.",
  })
  async revokeManagementKey(
    @Arg("input", () => RevokeManagementKeyInput, { description: "The key to revoke." })
    input: RevokeManagementKeyInput,
    @Ctx() { services, principal }: Context,
  ): Promise<RevokeManagementKeyPayload> {
    const account = permit(principal, "management-key.revoke").account;
    return answerMutation(input, async () => ({
      managementKey: await services.managementKeys.revoke(account, readKeyOf("ManagementKey", input.id)),
    }));
  }
}
