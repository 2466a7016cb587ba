import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, ID, Mutation, Resolver, Root } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { permit, permitOn } from "../../../src/keys/auth/permissions.ts";
import type { Scope } from "../../../src/keys/auth/principal.ts";
import type { ManagementKey } from "../../../src/keys/management-keys/management-key.service.ts";
import { chooseScopes, type Preset } from "../../../src/keys/management-keys/preset.ts";
import { keyCursor } from "../../../src/keys/shared/key.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AccountType } from "../account/account.type.ts";
import {
  CreatedManagementKeyType,
  ManagementKeyConnection,
  ManagementKeyStatus,
  ManagementKeyType,
  ManagementPreset,
} from "./management-key.type.ts";
import { ManagementScope } from "./management-scope.type.ts";

const SCOPES_TEXT = "The key's scopes. With a preset, they must equal the preset's scopes.";

/** The account's `mk-` keys, for wallet sessions only. */
@Resolver(() => AccountType)
export class ManagementKeyResolver {
  @Requires("management-key.read")
  @FieldResolver(() => ManagementKeyConnection, {
    nullable: true,
    description: "The account's `mk-` keys, oldest first. Requires a wallet session.",
  })
  async managementKeys(
    @Root() { address }: AccountType,
    @Arg("status", () => ManagementKeyStatus, {
      nullable: true,
      description: "Return only keys with this status.",
    })
    status: ManagementKey["status"] | null,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<ManagementKey>> {
    permitOn(principal, "management-key.read", address);
    const page = await services.managementKeys.list(address, toPageRequest(args), status ?? undefined);
    return toConnection(page, args, keyCursor);
  }

  @Requires("management-key.create")
  @Mutation(() => CreatedManagementKeyType, {
    nullable: true,
    description:
      "Creates an `mk-` key with the scopes of a preset or a list of scopes. Requires a wallet session.",
  })
  async createManagementKey(
    @Arg("name", () => String, {
      description: "The key's name, unique among the account's active `mk-` keys.",
    })
    name: string,
    @Arg("preset", () => ManagementPreset, { nullable: true, description: "A predefined set of scopes." })
    preset: Preset | null,
    @Arg("scopes", () => [ManagementScope], { nullable: true, description: SCOPES_TEXT })
    scopes: readonly Scope[] | null,
    @Ctx() { services, principal }: Context,
  ): Promise<CreatedManagementKeyType> {
    const account = permit(principal, "management-key.create").account;
    const chosen = chooseScopes({ preset: preset ?? undefined, scopes: scopes ?? undefined });
    if (!chosen) throw new AppError("invalid_parameter", "Give scopes or a preset.", { param: "scopes" });
    const { key, secret } = await services.managementKeys.create(account, name, chosen);
    return { secret, managementKey: key };
  }

  @Requires("management-key.update")
  @Mutation(() => ManagementKeyType, {
    nullable: true,
    description:
      "Updates the name or scopes of an `mk-` key. Null leaves a value unchanged. Requires a wallet session.",
  })
  async updateManagementKey(
    @Arg("id", () => ID, { description: "The key's id." }) id: string,
    @Arg("name", () => String, { nullable: true, description: "The new name." }) name: string | null,
    @Arg("preset", () => ManagementPreset, { nullable: true, description: "A predefined set of scopes." })
    preset: Preset | null,
    @Arg("scopes", () => [ManagementScope], { nullable: true, description: SCOPES_TEXT })
    scopes: readonly Scope[] | null,
    @Ctx() { services, principal }: Context,
  ): Promise<ManagementKey> {
    const account = permit(principal, "management-key.update").account;
    const change = { name: name ?? undefined, preset: preset ?? undefined, scopes: scopes ?? undefined };
    return services.managementKeys.update(account, id, change);
  }

  @Requires("management-key.revoke")
  @Mutation(() => ManagementKeyType, {
    nullable: true,
    description: "Revokes an `mk-` key. Idempotent. Requires a wallet session.",
  })
  async revokeManagementKey(
    @Arg("id", () => ID, { description: "The key's id." }) id: string,
    @Ctx() { services, principal }: Context,
  ): Promise<ManagementKey> {
    return services.managementKeys.revoke(permit(principal, "management-key.revoke").account, id);
  }
}
