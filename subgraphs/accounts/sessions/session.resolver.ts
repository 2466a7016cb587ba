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

  @Mutation(() => SignInNonceType, {
    nullable: true,
    description:
      "Creates a nonce for a sign-in message, valid for one attempt within 5 minutes. Requires no credential.",
  })
  createSignInNonce(@Ctx() { services }: Context): Promise<SignInNonceType> {
    return services.sessions.createNonce();
  }

  @Mutation(() => SignedInType, {
    nullable: true,
    description: "Opens a 12-hour wallet session for a signed message (EIP-4361). Requires no credential.",
  })
  async signIn(
    @Arg("message", () => String, { description: "The signed message, byte for byte." }) message: string,
    @Arg("signature", () => HexScalar, {
      description:
        "The wallet's signature of the message: by its private key, or one that its contract accepts (EIP-1271, " +
        "ERC-6492).",
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
      "Ends the caller's session, or all sessions of the wallet. Returns the number of ended sessions. " +
      "Requires a wallet session.",
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
