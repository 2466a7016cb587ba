import { randomBytes } from "node:crypto";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { newId } from "../../kernel/text/ids.ts";
import { credentialEnded } from "../auth/ended-credential.ts";
import { permit } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { hashSecret, newSecret } from "../auth/secret.ts";
import {
  endSessions,
  findOpenSession,
  insertSession,
  keepNonce,
  restoreNonce,
  type SessionRow,
  takeNonce,
} from "./session.store.ts";
import { readSignInMessage, refuseSignIn, type SignInOrigins } from "./sign-in-message.ts";

/** An open session, as its account sees it. */
export type Session = SessionRow;

/** A new session with its token, which is returned only once. The account is in lower case. */
export type OpenedSession = { readonly token: string; readonly account: Hex; readonly expiresAt: Date };

type SignedText = { readonly address: Hex; readonly message: string; readonly signature: Hex };

type Dependencies = {
  readonly database: Database;
  readonly clock: Clock;
  readonly places: SignInOrigins;
  /** Whether this wallet signed this text. Throws if that cannot be decided. */
  readonly verify: (signed: SignedText) => Promise<boolean>;
};

const NONCE_BYTES = 16;
const NONCE_SECONDS = 300;
const SESSION_SECONDS = 12 * 3_600;

/** Opens and ends wallet sessions by Sign-In with Ethereum (SPEC 5.9 leaves the method open; promises F49-F54). */
export class SessionService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** A nonce of 128 random bits for one sign-in within 5 minutes. */
  async createNonce(): Promise<{ nonce: string; expiresAt: Date }> {
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    return { nonce, expiresAt: await keepNonce(this.#dependencies.database, nonce, NONCE_SECONDS) };
  }

  /**
   * Opens a session of 12 h with a new token for the wallet that signed this message (EIP-4361). Throws
   * `sign_in_refused`, or `chain_error` if the chain is needed and cannot be read. The nonce is consumed before the
   * signature is verified: it is valid for one verdict, and one attempt at a time.
   */
  async signIn({ message, signature }: { message: string; signature: Hex }): Promise<OpenedSession> {
    const { database, clock, places, verify } = this.#dependencies;
    const { address, nonce } = readSignInMessage(message, places, clock.now());
    const nonceExpiresAt = await takeNonce(database, nonce);
    if (!nonceExpiresAt) throw refuseSignIn("Its nonce is unknown, used or expired: request a new one.");
    const isSigned = await verify({ address, message, signature }).catch(async (error: unknown) => {
      // There is no verdict: the user may send the signed message again.
      await restoreNonce(database, nonce, nonceExpiresAt);
      throw error;
    });
    if (!isSigned) throw refuseSignIn("The wallet did not sign this message.", "signature");
    const token = newSecret("ws-");
    const account = lowerHex(address);
    const session = { id: newId(), account, tokenHash: hashSecret(token) };
    return { token, account, expiresAt: await insertSession(database, session, SESSION_SECONDS) };
  }

  /** An open session by id; undefined once it has ended. */
  find(id: string): Promise<Session | undefined> {
    return findOpenSession(this.#dependencies.database, id);
  }

  /** The caller's session. Throws `session_ended` if it has ended meanwhile, `insufficient_scope` for other callers. */
  async current(principal: Principal): Promise<Session> {
    const session = await this.find(sessionOf(principal));
    if (!session) throw credentialEnded("session_ended");
    return session;
  }

  /**
   * Ends the caller's session, or all sessions of the account. Returns how many ended. Throws `insufficient_scope` for
   * a caller without a session.
   */
  async signOut(principal: Principal, { everywhere }: { everywhere: boolean }): Promise<number> {
    const { account } = permit(principal, "session.end");
    return endSessions(this.#dependencies.database, account, everywhere ? null : sessionOf(principal));
  }
}

function sessionOf(principal: Principal): string {
  permit(principal, "session.read");
  return principal.kind === "wallet-session" ? principal.sessionId : "";
}
