import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
import { AccountType } from "../account/account.type.ts";

/** The nonce of a sign-in message. */
@ObjectType("SignInNonce", {
  description: "A nonce for one sign-in message (EIP-4361).",
  simpleResolvers: true,
})
export class SignInNonceType {
  @Field(() => String, { description: "The nonce, valid for one sign-in attempt." })
  nonce!: string;

  @Field(() => DateTimeScalar, { description: "When the nonce expires." })
  expiresAt!: Date;
}

/** An open wallet session. */
@ObjectType("WalletSession", {
  description: "A session opened by signing in with a wallet.",
  simpleResolvers: true,
})
export class WalletSessionType {
  @Field(() => ID, { description: "The session's id." })
  id!: string;

  @Field(() => DateTimeScalar, { description: "When the session expires." })
  expiresAt!: Date;
}

/** A newly opened session. */
@ObjectType("SignedIn", {
  description: "A newly opened wallet session, with its token.",
  simpleResolvers: true,
})
export class SignedInType {
  @Field(() => String, {
    description:
      "The `ws-` token, sent as `Authorization: Bearer`. Returned only once: only its hash is stored.",
  })
  token!: string;

  @Field(() => DateTimeScalar, { description: "When the session expires." })
  expiresAt!: Date;

  @Field(() => AccountType, { description: "The account of the wallet that signed in." })
  account!: AccountType;
}
