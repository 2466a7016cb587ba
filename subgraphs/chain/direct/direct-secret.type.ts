import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { PreparedSecret } from "../../../src/chain/direct/direct-secrets.service.ts";
import { AddressScalar, DateTimeScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

/** A direct-path secret to be. */
@ObjectType("AppSecretText", {
  description:
    "What a wallet signs for an `app-sk-` secret: `personal_sign` over the 32 bytes of `digest`, given to the wallet as bytes and not as text.",
  simpleResolvers: true,
})
export class AppSecretTextType {
  @Field(() => String, { description: "The claims, which `assembleAppSecret` takes to the byte." })
  text!: string;

  @Field(() => Hash32Scalar, { description: "The hash of the text: the message to sign." })
  digest!: PreparedSecret["digest"];

  @Field(() => AddressScalar, { description: "Whose wallet signs, and pays." })
  account!: string;

  @Field(() => AddressScalar, { description: "The provider that takes it." })
  provider!: string;

  @Field(() => Int, { description: "The generation of the sub-account; a new one voids it." })
  generation!: number;

  @Field(() => Int, { description: "0 to 254 can be revoked one by one, 255 is ephemeral." })
  tokenId!: number;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it ends, null for never." })
  expiresAt!: Date | null;
}

/** A direct-path secret. */
@ObjectType("AppSecret", { description: "A finished secret of the direct path.", simpleResolvers: true })
export class AppSecretType {
  @Field(() => String, {
    description: "The bearer credential for the provider's `/v1/proxy`. It is shown here and kept nowhere.",
  })
  secret!: string;
}

/** A prepared secret as the graph shows it. */
export function toAppSecretText({ address, expiresAt, ...prepared }: PreparedSecret): AppSecretTextType {
  return { ...prepared, account: address, expiresAt: expiresAt === 0 ? null : new Date(expiresAt) };
}
