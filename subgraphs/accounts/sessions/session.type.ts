import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
import { AccountType } from "../account/account.type.ts";

/** What a sign-in message is made with. */
@ObjectType("SignInNonce", {
  description: "A nonce for one sign-in message (EIP-4361).",
  simpleResolvers: true,
})
export class SignInNonceType {
  @Field(() => String, { description: "The nonce, good for one attempt to sign in." })
  nonce!: string;

  @Field(() => DateTimeScalar, { description: "When it is no longer good." })
  expiresAt!: Date;
}

/** An open wallet session. */
@ObjectType("WalletSession", {
  description: "A session that a wallet opened by signing in.",
  simpleResolvers: true,
})
export class WalletSessionType {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => DateTimeScalar, { description: "When it ends by itself." })
  expiresAt!: Date;
}

/** A session that was just opened. */
@ObjectType("SignedIn", {
  description: "A wallet session that was just opened, with its token.",
  simpleResolvers: true,
})
export class SignedInType {
  @Field(() => String, {
    description:
      "The `ws-` token, sent as `Authorization: Bearer`. It is shown this once: only its hash is kept.",
  })
  token!: string;

  @Field(() => DateTimeScalar, { description: "When the session ends by itself." })
  expiresAt!: Date;

  @Field(() => AccountType, { description: "The account of the wallet that signed in." })
  account!: AccountType;
}
