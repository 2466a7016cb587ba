import QuickLru from "quick-lru";
import type { Database } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import { ApiKeyRow } from "./api-key.row.ts";
import { ManagementKeyRow } from "./management-key.row.ts";
import { ANONYMOUS, type Principal } from "./principal.ts";
import { hashSecret, readSecret } from "./secret.ts";
import { findSession } from "./session.store.ts";

const CACHED_KEYS = 10_000;
const CACHED_MS = 10_000;

/** Turns the `Authorization` header into a principal. */
export class AuthenticateService {
  readonly #database: Database;
  /**
   * Live `sk-` keys by the hash of their secret. It may be up to 10 s behind a revocation without harm, because the
   * admission statement re-reads `revoked_at`. `mk-` keys and sessions are never cached: nothing behind them checks
   * again.
   */
  readonly #apiKeys = new QuickLru<string, Principal>({ maxSize: CACHED_KEYS, maxAge: CACHED_MS });

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Who sends this header; anonymous without one. Throws `invalid_api_key` for anything that is not a key of ours,
   * with one text for every reason, `api_key_revoked` for a key that was revoked, and `session_ended` for the token of
   * a session that is no more.
   */
  async authenticate(authorization: string | undefined): Promise<Principal> {
    if (authorization === undefined) return ANONYMOUS;
    const secret = /^bearer +([^\s,]{1,512})$/i.exec(authorization)?.[1];
    const prefix = secret === undefined ? undefined : readSecret(secret);
    if (secret === undefined || !prefix) throw invalid();
    const hash = hashSecret(secret);
    if (prefix === "sk-") return this.#byApiKey(hash);
    return prefix === "mk-" ? this.#byManagementKey(hash) : this.#bySession(hash);
  }

  async #byApiKey(secretHash: string): Promise<Principal> {
    const cached = this.#apiKeys.get(secretHash);
    if (cached) return cached;
    const row = await this.#database.em().findOne(ApiKeyRow, { secretHash });
    if (!row) throw invalid();
    if (row.revokedAt) throw new AppError("api_key_revoked", "This key was revoked.");
    const principal: Principal = { kind: "api-key", account: row.account, keyId: row.id };
    this.#apiKeys.set(secretHash, principal);
    return principal;
  }

  async #byManagementKey(secretHash: string): Promise<Principal> {
    const row = await this.#database.em().findOne(ManagementKeyRow, { secretHash });
    if (!row) throw invalid();
    if (row.revokedAt) throw new AppError("api_key_revoked", "This key was revoked.");
    return { kind: "management-key", account: row.account, keyId: row.id, scopes: row.scopes };
  }

  async #bySession(tokenHash: string): Promise<Principal> {
    const session = await findSession(this.#database, tokenHash);
    if (!session) throw new AppError("session_ended", "This session has ended: sign in again.");
    return { kind: "wallet-session", account: session.account, sessionId: session.id };
  }
}

function invalid(): AppError {
  return new AppError("invalid_api_key", "This is not a valid key.");
}
