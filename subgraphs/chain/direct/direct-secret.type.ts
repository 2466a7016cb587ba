import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { PreparedSecret } from "../../../src/chain/direct/direct-secrets.service.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import {
  AddressScalar,
  BigIntScalar,
  DateTimeScalar,
  Hash32Scalar,
  HexScalar,
} from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";

/** The text to sign for a direct-path secret. */
@ObjectType("AppSecretText", {
  description:
    "What a wallet signs for an `app-sk-` secret: `personal_sign` over the 32 bytes of `digest`, passed as bytes, " +
    "not text.",
  simpleResolvers: true,
})
export class AppSecretTextType {
  @Field(() => String, { description: "The claims. Pass them to `assembleAppSecret` byte for byte." })
  text!: string;

  @Field(() => Hash32Scalar, { description: "The hash of the text: the message to sign." })
  digest!: PreparedSecret["digest"];

  @Field(() => AddressScalar, { description: "The account whose wallet signs and pays." })
  accountAddress!: string;

  @Field(() => AddressScalar, { description: "The address of the provider that accepts the secret." })
  providerAddress!: string;

  @Field(() => BigIntScalar, {
    description: "The sub-account's generation. A new generation invalidates the secret.",
  })
  generation!: bigint;

  @Field(() => Int, {
    description: "0 to 254 for a secret that can be revoked individually, 255 for an ephemeral one.",
  })
  tokenId!: number;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the secret expires. Null for never." })
  expiresAt!: Date | null;
}

/** A signed text. */
@InputType("AssembleAppSecretInput", { description: "The text of an `app-sk-` secret and its signature." })
export class AssembleAppSecretInput {
  @Field(() => String, { description: "The `text` of `appSecretText`, byte for byte." })
  text!: string;

  @Field(() => HexScalar, { description: "The wallet's signature of the text's digest." })
  signature!: Hex;
}

/** A direct-path secret. */
@ObjectType("AssembleAppSecretPayload", {
  description: "The result of `assembleAppSecret`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class AssembleAppSecretPayload extends PayloadType {
  @Field(() => String, {
    nullable: true,
    description: "The bearer credential for the provider's `/v1/proxy`. It is not stored.",
  })
  secret?: string | null;
}

/** Maps a prepared secret to its GraphQL type. */
export function toAppSecretText({
  address,
  provider,
  expiresAt,
  ...prepared
}: PreparedSecret): AppSecretTextType {
  return {
    ...prepared,
    generation: BigInt(prepared.generation),
    accountAddress: address,
    providerAddress: provider,
    expiresAt: expiresAt === 0 ? null : new Date(expiresAt),
  };
}
