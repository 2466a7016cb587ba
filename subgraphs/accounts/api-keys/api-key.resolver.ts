import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, ID, Mutation, Resolver, Root } from "type-graphql";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import type { KeySettings } from "../../../src/keys/api-keys/key-settings.ts";
import { permit, permitOn } from "../../../src/keys/auth/permissions.ts";
import { keyCursor } from "../../../src/keys/shared/key.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AccountType } from "../account/account.type.ts";
import {
  ApiKeyConnection,
  ApiKeyType,
  CreatedApiKeyType,
  type KeyLimit,
  KeyLimitType,
  KeySettingsArgs,
  KeyStatus,
} from "./api-key.type.ts";

/** The account's `sk-` keys. */
@Resolver(() => AccountType)
export class ApiKeyResolver {
  @Requires("api-key.read")
  @FieldResolver(() => ApiKeyConnection, {
    nullable: true,
    description: "The account's `sk-` keys, oldest first. Requires the scope `keys:read`.",
  })
  async apiKeys(
    @Root() { address }: AccountType,
    @Arg("status", () => KeyStatus, { nullable: true, description: "Return only keys with this status." })
    status: ApiKey["status"] | null,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<ApiKey>> {
    permitOn(principal, "api-key.read", address);
    const page = await services.apiKeys.list(address, toPageRequest(args), status ?? undefined);
    return toConnection(page, args, keyCursor);
  }

  @Requires("api-key.create")
  @Mutation(() => CreatedApiKeyType, {
    nullable: true,
    description:
      "Creates an `sk-` key. It has no limits unless you set them. Requires the scope `keys:create`.",
  })
  async createApiKey(
    @Arg("name", () => String, {
      description: "The key's name, unique among the account's active `sk-` keys.",
    })
    name: string,
    @Args(() => KeySettingsArgs) args: KeySettingsArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<CreatedApiKeyType> {
    const account = permit(principal, "api-key.create").account;
    const { key, secret } = await services.apiKeys.create(account, name, toSettings(args));
    return { secret, apiKey: key };
  }

  @Requires("api-key.update")
  @Mutation(() => ApiKeyType, {
    nullable: true,
    description:
      "Updates an `sk-` key. Null leaves a setting unchanged. Changes apply from the key's next request on. " +
      "Requires the scope `keys:manage`.",
  })
  async updateApiKey(
    @Arg("id", () => ID, { description: "The key's id." }) id: string,
    @Arg("name", () => String, { nullable: true, description: "The new name." }) name: string | null,
    @Args(() => KeySettingsArgs) args: KeySettingsArgs,
    @Arg("clear", () => [KeyLimitType], { nullable: true, description: "The limits to remove." })
    clear: readonly KeyLimit[] | null,
    @Ctx() { services, principal }: Context,
  ): Promise<ApiKey> {
    const account = permit(principal, "api-key.update").account;
    const cleared = Object.fromEntries((clear ?? []).map((limit) => [limit, null]));
    const changes = { ...cleared, ...toSettings(args), ...(typeof name === "string" && { name }) };
    return services.apiKeys.update(account, id, changes);
  }

  @Requires("api-key.revoke")
  @Mutation(() => ApiKeyType, {
    nullable: true,
    description: "Revokes an `sk-` key. Idempotent. Requires the scope `keys:manage`.",
  })
  async revokeApiKey(
    @Arg("id", () => ID, { description: "The key's id." }) id: string,
    @Ctx() { services, principal }: Context,
  ): Promise<ApiKey> {
    return services.apiKeys.revoke(permit(principal, "api-key.revoke").account, id);
  }
}

function toSettings(args: KeySettingsArgs): Partial<Omit<KeySettings, "name">> {
  const { expiresAt, creditLimit, resetPeriod, allowedModels, allowedProviders } = args;
  const { trustMode, providerEvidence } = args;
  return {
    ...(typeof expiresAt === "string" && { expiresAt: new Date(expiresAt) }),
    ...(typeof creditLimit === "string" && { creditLimit: BigInt(creditLimit) }),
    ...(resetPeriod && { resetPeriod }),
    ...(allowedModels && { allowedModels }),
    ...(allowedProviders && { allowedProviders }),
    ...(trustMode && { trustMode }),
    ...(providerEvidence && { providerEvidence }),
  };
}
