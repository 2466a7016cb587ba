import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Int, Mutation, Query, Resolver } from "type-graphql";
import { EPHEMERAL_TOKEN_ID } from "../../../src/chain/direct/app-secret.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AddressScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import {
  AppSecretTextType,
  AssembleAppSecretInput,
  AssembleAppSecretPayload,
  toAppSecretText,
} from "./direct-secret.type.ts";

/** Direct-path secrets, for wallets that sign elsewhere (SPEC 5.7). */
@Resolver()
export class DirectSecretResolver {
  @Query(() => AppSecretTextType, {
    nullable: true,
    description: "The text that a wallet must sign for an `app-sk-` secret with an inference provider.",
  })
  async appSecretText(
    @Arg("account", () => AddressScalar, { description: "The account whose wallet signs and pays." })
    account: Hex,
    @Arg("provider", () => AddressScalar, {
      description: "The address of the provider that accepts the secret.",
    })
    provider: Hex,
    @Arg("tokenId", () => Int, {
      defaultValue: EPHEMERAL_TOKEN_ID,
      description:
        "0 to 254 for a persistent secret that can be revoked individually, 255 for an ephemeral secret, which is valid for at most a day.",
    })
    tokenId: number,
    @Arg("expiresAt", () => DateTimeScalar, {
      nullable: true,
      description: "When the secret expires. Default: after a day if ephemeral, never if persistent.",
    })
    expiresAt: string | null,
    @Ctx() { services }: Context,
  ): Promise<AppSecretTextType> {
    const end = expiresAt == null ? undefined : new Date(expiresAt);
    return toAppSecretText(
      await services.directSecrets.prepare({ account, provider, tokenId, expiresAt: end }),
    );
  }

  @Mutation(() => AssembleAppSecretPayload, {
    nullable: true,
    description:
      "Assembles an `app-sk-` secret, which authenticates requests to a provider on the direct path, from the text of " +
      "`appSecretText` and the wallet's signature. Nothing is stored. Requires no credential: anyone with the " +
      "signature can assemble it.",
  })
  async assembleAppSecret(
    @Arg("input", () => AssembleAppSecretInput, { description: "The signed text." })
    input: AssembleAppSecretInput,
    @Ctx() { services }: Context,
  ): Promise<AssembleAppSecretPayload> {
    const { text, signature } = input;
    return answerMutation(input, async () => ({
      secret: await services.directSecrets.assemble(text, signature),
    }));
  }
}
