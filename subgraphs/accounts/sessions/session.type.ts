import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { DateTimeScalar, HexScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { AccountType } from "../account/account.type.ts";

/** The nonce of a sign-in message. */
@ObjectType("CreateSignInNoncePayload", {
  description:
    "The result of `createSignInNonce`: a nonce for one sign-in message (EIP-4361). Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateSignInNoncePayload extends PayloadType {
  @Field(() => String, { nullable: true, description: "The nonce, valid for one sign-in attempt." })
  nonce?: string | null;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the nonce expires." })
  expiresAt?: Date | null;
}

/** A signed message. */
@InputType("SignInInput", { description: "A sign-in message (EIP-4361) and its signature." })
export class SignInInput {
  @Field(() => String, { description: "The signed message, byte for byte." })
  message!: string;

  @Field(() => HexScalar, {
    description:
      "The wallet's signature of the message: by its private key, or one that its contract accepts (EIP-1271, " +
      "ERC-6492).",
  })
  signature!: Hex;
}

/** Which sessions to end. */
@InputType("SignOutInput", { description: "Which sessions to end." })
export class SignOutInput {
  @Field(() => Boolean, {
    defaultValue: false,
    description: "Whether to end every session of the wallet, not only the caller's.",
  })
  everywhere!: boolean;
}

/** What signing out ended. */
@ObjectType("SignOutPayload", {
  description: "The result of `signOut`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class SignOutPayload extends PayloadType {
  @Field(() => Int, { nullable: true, description: "The number of sessions that were ended." })
  endedSessionCount?: number | null;
}

/** An open wallet session. */
@ObjectType("WalletSession", {
  description: "A session opened by signing in with a wallet.",
  simpleResolvers: true,
})
export class WalletSessionType {
  @Field(() => String, { name: "sessionId", simple: false, description: "The session's id." })
  id!: string;

  @Field(() => DateTimeScalar, { description: "When the session expires." })
  expiresAt!: Date;
}

/** A newly opened session. */
@ObjectType("SignInPayload", {
  description:
    "The result of `signIn`: a newly opened wallet session, with its token. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class SignInPayload extends PayloadType {
  @Field(() => String, {
    nullable: true,
    description:
      "The `ws-` token, sent as `Authorization: Bearer`. Returned only once: only its hash is stored.",
  })
  token?: string | null;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the session expires." })
  expiresAt?: Date | null;

  @Field(() => AccountType, { nullable: true, description: "The account of the wallet that signed in." })
  account?: AccountType | null;
}
