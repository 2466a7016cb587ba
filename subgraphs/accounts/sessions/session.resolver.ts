import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Mutation, Resolver } from "type-graphql";
import { isPermitted } from "../../../src/keys/auth/permissions.ts";
import type { Session } from "../../../src/keys/sessions/session.service.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toAccount } from "../account/account.type.ts";
import { ViewerType } from "../account/viewer.type.ts";
import {
  CreateSignInNoncePayload,
  SignInInput,
  SignInPayload,
  SignOutInput,
  SignOutPayload,
  WalletSessionType,
} from "./session.type.ts";

/** Wallet sign-in and sign-out (EIP-4361). */
@Resolver(() => ViewerType)
export class SessionResolver {
  @FieldResolver(() => WalletSessionType, {
    nullable: true,
    description: "The caller's wallet session. Null for every other credential.",
  })
  async session(@Ctx() { services, principal }: Context): Promise<Session | null> {
    if (!isPermitted(principal, "session.read")) return null;
    return services.sessions.current(principal);
  }

  @Mutation(() => CreateSignInNoncePayload, {
    nullable: true,
    description:
      "Creates a nonce for a sign-in message, valid for one attempt within 5 minutes. Requires no credential.",
  })
  createSignInNonce(@Ctx() { services }: Context): Promise<CreateSignInNoncePayload> {
    return answerMutation({}, () => services.sessions.createNonce());
  }

  @Mutation(() => SignInPayload, {
    nullable: true,
    description:
      "Opens a 12-hour wallet session for a signed message (EIP-4361). Fails with `sign_in_refused` if the message or signature is not accepted. Requires no credential.",
  })
  async signIn(
    @Arg("input", () => SignInInput, { description: "The signed message." })
    { message, signature }: SignInInput,
    @Ctx() { services }: Context,
  ): Promise<SignInPayload> {
    return answerMutation({ message, signature }, async () => {
      const { token, account, expiresAt } = await services.sessions.signIn({ message, signature });
      return { token, expiresAt, account: toAccount(account) };
    });
  }

  @Requires("session.end")
  @Mutation(() => SignOutPayload, {
    nullable: true,
    description: "Ends the caller's session, or all sessions of the wallet. Requires a wallet session.",
  })
  signOut(
    @Arg("input", () => SignOutInput, { nullable: true, description: "Default: the caller's session." })
    input: SignOutInput | null,
    @Ctx() { services, principal }: Context,
  ): Promise<SignOutPayload> {
    const everywhere = input?.everywhere ?? false;
    return answerMutation(input ?? {}, async () => ({
      endedSessionCount: await services.sessions.signOut(principal, { everywhere }),
    }));
  }
}
