import QuickLru from "quick-lru";
import type { Queries } from "../../db/database.ts";
import { NaturalBatch } from "../../kernel/async/batch.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type FoundApiKey,
  type FoundManagementKey,
  type FoundSession,
  findApiKeys,
  findManagementKeys,
  findSessions,
} from "./credential.store.ts";
import { credentialEnded } from "./ended-credential.ts";
import { ANONYMOUS, type Principal } from "./principal.ts";
import { bearerToken, hashSecret, readSecret } from "./secret.ts";

const CACHED_KEYS = 10_000;
const CACHED_MS = 10_000;

const MAX_CONCURRENT = 512;

/**
 * Turns the `Authorization` header into a principal. Credentials that arrive during a lookup are looked up together in
 * the next one, one statement per kind at a time: a flood of invalid credentials does not delay valid ones.
 */
export class AuthenticateService {
  readonly #apiKeyRows: NaturalBatch<string, FoundApiKey | undefined>;
  readonly #managementKeyRows: NaturalBatch<string, FoundManagementKey | undefined>;
  readonly #sessionRows: NaturalBatch<string, FoundSession | undefined>;
  /**
   * Active `sk-` keys by the hash of their secret, for requests whose key an admission checks again: the cache may lag
   * a revocation by up to 10 s without harm. `mk-` keys and sessions are never cached: nothing after them checks again.
   */
  readonly #apiKeys = new QuickLru<string, Principal>({ maxSize: CACHED_KEYS, maxAge: CACHED_MS });

  constructor(queries: Queries) {
    const limit = { max: MAX_CONCURRENT };
    this.#apiKeyRows = new NaturalBatch((hashes) => findApiKeys(queries, hashes), limit);
    this.#managementKeyRows = new NaturalBatch((hashes) => findManagementKeys(queries, hashes), limit);
    this.#sessionRows = new NaturalBatch((hashes) => findSessions(queries, hashes), limit);
  }

  /**
   * The principal of this header; anonymous without one. Throws `invalid_api_key` for anything that is not one of our
   * keys, with the same text for every reason, `api_key_revoked` and `api_key_expired` for a key that is not active,
   * and `session_ended` for the token of an ended session. With `isAdmitted`, an `sk-` key may be cached for up to 10
   * s: only for requests that always go through an admission.
   */
  async authenticate(
    authorization: string | undefined,
    { isAdmitted = false }: { isAdmitted?: boolean } = {},
  ): Promise<Principal> {
    if (authorization === undefined) return ANONYMOUS;
    const secret = bearerToken(authorization);
    const prefix = secret === undefined ? undefined : readSecret(secret);
    if (secret === undefined || !prefix) throw invalid();
    const hash = hashSecret(secret);
    if (prefix === "sk-") return (isAdmitted && this.#apiKeys.get(hash)) || this.#byApiKey(hash);
    return prefix === "mk-" ? this.#byManagementKey(hash) : this.#bySession(hash);
  }

  async #byApiKey(secretHash: string): Promise<Principal> {
    const row = await this.#apiKeyRows.add(secretHash);
    if (!row) throw invalid();
    if (row.revoked || row.expired) {
      this.#apiKeys.delete(secretHash);
      if (row.revoked) throw credentialEnded("api_key_revoked");
      throw credentialEnded("api_key_expired");
    }
    const principal: Principal = { kind: "api-key", account: row.account, keyId: row.id };
    this.#apiKeys.set(secretHash, principal);
    return principal;
  }

  async #byManagementKey(secretHash: string): Promise<Principal> {
    const row = await this.#managementKeyRows.add(secretHash);
    if (!row) throw invalid();
    if (row.revoked) throw credentialEnded("api_key_revoked");
    return { kind: "management-key", account: row.account, keyId: row.id, scopes: row.scopes };
  }

  async #bySession(tokenHash: string): Promise<Principal> {
    const session = await this.#sessionRows.add(tokenHash);
    if (!session) throw credentialEnded("session_ended");
    return { kind: "wallet-session", account: session.account, sessionId: session.id };
  }
}

function invalid(): AppError {
  return new AppError("invalid_api_key", "This is not a valid key.");
}
