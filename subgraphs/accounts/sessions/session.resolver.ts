import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Int, Mutation, Resolver } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { isPermitted } from "../../../src/keys/auth/permissions.ts";
import type { Session } from "../../../src/keys/sessions/session.service.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { HexScalar } from "../../shared/schema/scalars.ts";
import { toAccount } from "../account/account.type.ts";
import { ViewerType } from "../account/viewer.type.ts";
import { SignedInType, SignInNonceType, WalletSessionType } from "./session.type.ts";

/** Signing in with a wallet, and out (EIP-4361). */
@Resolver(() => ViewerType)
export class SessionResolver {
  @FieldResolver(() => WalletSessionType, {
    nullable: true,
    description: "The wallet session that asks; null for every other credential.",
  })
  async session(@Ctx() { services, principal }: Context): Promise<Session | null> {
    if (!isPermitted(principal, "session.read")) return null;
    return services.sessions.current(principal);
  }

  @Mutation(() => SignInNonceType, {
    nullable: true,
    description:
      "Gives a nonce for a sign-in message, good for one attempt within 5 minutes. Open to everyone.",
  })
  createSignInNonce(@Ctx() { services }: Context): Promise<SignInNonceType> {
    return services.sessions.createNonce();
  }

  @Mutation(() => SignedInType, {
    nullable: true,
    description: "Opens a wallet session of 12 hours for a signed message (EIP-4361). Open to everyone.",
  })
  async signIn(
    @Arg("message", () => String, { description: "The message as it was signed." }) message: string,
    @Arg("signature", () => HexScalar, {
      description:
        "The wallet's signature of it: of its key, or what its contract takes (EIP-1271, ERC-6492).",
    })
    signature: Hex,
    @Ctx() { services }: Context,
  ): Promise<SignedInType> {
    const { token, account, expiresAt } = await services.sessions.signIn({ message, signature });
    return { token, expiresAt, account: toAccount(account) };
  }

  @Requires("session.end")
  @Mutation(() => Int, {
    nullable: true,
    description:
      "Ends the session that asks, or all of its wallet's; says how many ended. Needs a wallet session.",
  })
  signOut(
    @Arg("everywhere", () => Boolean, {
      defaultValue: false,
      description: "Whether to end every session of the wallet.",
    })
    everywhere: boolean,
    @Ctx() { services, principal }: Context,
  ): Promise<number> {
    return services.sessions.signOut(principal, { everywhere });
  }
}
