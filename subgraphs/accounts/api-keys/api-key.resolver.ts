import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Mutation, Resolver, Root } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import type { KeySettings } from "../../../src/keys/api-keys/key-settings.ts";
import { permit, permitOn } from "../../../src/keys/auth/permissions.ts";
import { keyCursor } from "../../../src/keys/shared/key.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { runSecretOnce } from "../../shared/once.ts";
import { type Connection, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { AccountType } from "../account/account.type.ts";
import { ApiKeyConnection } from "./api-key.type.ts";
import { ApiKeysArgs } from "./api-key-filter.type.ts";
import {
  CreateApiKeyInput,
  CreateApiKeyPayload,
  type KeyLimit,
  type KeySettingsInput,
  RevokeApiKeyInput,
  RevokeApiKeyPayload,
  UpdateApiKeyInput,
  UpdateApiKeyPayload,
} from "./api-key-mutations.type.ts";

/** The account's `sk-` keys. */
@Resolver(() => AccountType)
export class ApiKeyResolver {
  @Requires("api-key.read")
  @FieldResolver(() => ApiKeyConnection, {
    nullable: true,
    description:
      "The account's `sk-` keys, or those that match a filter, oldest first. Requires the scope `keys:read`.",
  })
  async apiKeys(
    @Root() { address }: AccountType,
    @Args(() => ApiKeysArgs) args: ApiKeysArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<ApiKey>> {
    permitOn(principal, "api-key.read", address);
    const statuses = args.filter?.statuses ?? undefined;
    const page = await services.apiKeys.list(address, toPageRequest(args), statuses);
    return toConnection(
      page,
      (key) => keyCursor("api-key", key),
      () => services.apiKeys.count(address, statuses),
    );
  }

  @Requires("api-key.create")
  @Mutation(() => CreateApiKeyPayload, {
    nullable: true,
    description:
      "Creates an `sk-` key. It has no limits unless you set them. Requires the scope `keys:create`.",
  })
  async createApiKey(
    @Arg("input", () => CreateApiKeyInput, { description: "The key to create." })
    { idempotencyKey, ...input }: CreateApiKeyInput,
    @Ctx() context: Context,
  ): Promise<CreateApiKeyPayload> {
    const account = permit(context.principal, "api-key.create").account;
    const call = { account, requestId: newRequestId(), field: "createApiKey", key: idempotencyKey, input };
    return answerMutation(input, () =>
      runSecretOnce(context, call, async () => {
        const { apiKeys } = context.services;
        const { key, secret } = await apiKeys.create(account, input.name, toSettings(input));
        return { secret, apiKey: key };
      }),
    );
  }

  @Requires("api-key.update")
  @Mutation(() => UpdateApiKeyPayload, {
    nullable: true,
    description:
      "Updates an `sk-` key. Changes apply from the key's next request on. Requires the scope `keys:manage`.",
  })
  async updateApiKey(
    @Arg("input", () => UpdateApiKeyInput, { description: "The changes." }) input: UpdateApiKeyInput,
    @Ctx() { services, principal }: Context,
  ): Promise<UpdateApiKeyPayload> {
    const account = permit(principal, "api-key.update").account;
    const { name } = input;
    const id = readKeyOf("ApiKey", input.id);
    return answerMutation(input, async () => {
      const changes = {
        ...toCleared(input),
        ...toSettings(input),
        ...(typeof name === "string" && { name }),
      };
      return { apiKey: await services.apiKeys.update(account, id, changes) };
    });
  }

  @Requires("api-key.revoke")
  @Mutation(() => RevokeApiKeyPayload, {
    nullable: true,
    description: "Revokes an `sk-` key. Idempotent. Requires the scope `keys:manage`.",
  })
  async revokeApiKey(
    @Arg("input", () => RevokeApiKeyInput, { description: "The key to revoke." }) input: RevokeApiKeyInput,
    @Ctx() { services, principal }: Context,
  ): Promise<RevokeApiKeyPayload> {
    const account = permit(principal, "api-key.revoke").account;
    return answerMutation(input, async () => ({
      apiKey: await services.apiKeys.revoke(account, readKeyOf("ApiKey", input.id)),
    }));
  }
}

/** The limits to remove. One cannot be set as well. */
function toCleared(input: UpdateApiKeyInput): Partial<Record<KeyLimit, null>> {
  const cleared = input.clear ?? [];
  const isSet = (limit: KeyLimit) => input[limit] !== undefined && input[limit] !== null;
  const at = cleared.findIndex(isSet);
  if (at >= 0) {
    const message = `clear.${at}: The limit ${cleared[at]} cannot be set and removed at once.`;
    throw new AppError("invalid_parameter", message, { param: `clear.${at}` });
  }
  return Object.fromEntries(cleared.map((limit) => [limit, null]));
}

function toSettings(input: KeySettingsInput): Partial<Omit<KeySettings, "name">> {
  const { expiresAt, creditLimit, resetPeriod, allowedModels, allowedProviders } = input;
  const { trustMode, providerEvidence } = input;
  const { maxInputTokens, maxInputBytes, maxOutputTokens, allowedTools, blockedParameters, verifyTee } =
    input;
  return {
    ...(typeof expiresAt === "string" && { expiresAt: new Date(expiresAt) }),
    ...(typeof creditLimit === "string" && { creditLimit: BigInt(creditLimit) }),
    ...(resetPeriod && { resetPeriod }),
    ...(allowedModels && { allowedModels }),
    ...(allowedProviders && { allowedProviders }),
    ...(trustMode && { trustMode }),
    ...(providerEvidence && { providerEvidence }),
    ...(typeof maxInputTokens === "number" && { maxInputTokens }),
    ...(typeof maxInputBytes === "number" && { maxInputBytes }),
    ...(typeof maxOutputTokens === "number" && { maxOutputTokens }),
    ...(allowedTools && { allowedTools }),
    ...(blockedParameters && { blockedParameters }),
    ...(typeof verifyTee === "boolean" && { verifyTee }),
  };
}
