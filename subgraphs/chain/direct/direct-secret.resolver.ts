import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Int, Mutation, Query, Resolver } from "type-graphql";
import { EPHEMERAL_TOKEN_ID } from "../../../src/chain/direct/app-secret.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AddressScalar, DateTimeScalar, HexScalar } from "../../shared/schema/scalars.ts";
import { AppSecretTextType, AppSecretType, toAppSecretText } from "./direct-secret.type.ts";

/** Secrets of the direct path, for wallets that sign elsewhere (SPEC 5.7). */
@Resolver()
export class DirectSecretResolver {
  @Query(() => AppSecretTextType, {
    nullable: true,
    description: "What a wallet has to sign for an `app-sk-` secret with one inference provider.",
  })
  async appSecretText(
    @Arg("account", () => AddressScalar, { description: "Whose wallet signs, and pays." }) account: Hex,
    @Arg("provider", () => AddressScalar, { description: "The provider that takes it." }) provider: Hex,
    @Arg("tokenId", () => Int, {
      defaultValue: EPHEMERAL_TOKEN_ID,
      description: "0 to 254 for one that can be revoked by itself, 255 for one that ends within a day.",
    })
    tokenId: number,
    @Arg("expiresAt", () => DateTimeScalar, {
      nullable: true,
      description: "When it ends. Unset: an ephemeral one after a day, a persistent one never.",
    })
    expiresAt: string | null,
    @Ctx() { services }: Context,
  ): Promise<AppSecretTextType> {
    const end = expiresAt == null ? undefined : new Date(expiresAt);
    return toAppSecretText(
      await services.directSecrets.prepare({ account, provider, tokenId, expiresAt: end }),
    );
  }

  @Mutation(() => AppSecretType, {
    nullable: true,
    description:
      "Makes the secret out of its text and the wallet's signature. Nothing is stored. Open to everyone: who has the signature could do it alone.",
  })
  async assembleAppSecret(
    @Arg("text", () => String, { description: "The text of `appSecretText`, to the byte." }) text: string,
    @Arg("signature", () => HexScalar, { description: "The wallet's signature of its digest." })
    signature: Hex,
    @Ctx() { services }: Context,
  ): Promise<AppSecretType> {
    return { secret: await services.directSecrets.assemble(text, signature) };
  }
}
