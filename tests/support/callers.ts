import type { App } from "../../src/app.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Access, SCOPES, type Scope } from "../../src/keys/principal.ts";
import { hashSecret, newSecret } from "../../src/keys/secret.ts";
import { insertSession } from "../../src/keys/session.store.ts";
import { seedAccount } from "./seed.ts";

/** An account with money and one key of each kind, which calls are about. */
export type Owner = {
  readonly account: string;
  readonly apiKeyId: string;
  readonly managementKeyId: string;
};

/** Somebody who calls, and what the permission matrix of SPEC 5.3 says of it. */
export type Caller = {
  readonly name: string;
  /** Whether it is of another account than the owner's. */
  readonly foreign: boolean;
  /** Whether its credential may end by a call, as a session does. */
  readonly endsByCalls?: boolean;
  /** Makes its credential, `account` being the owner's. */
  secret(app: App, account: string): Promise<string | undefined>;
  /** The code with which it is refused at a door of this access; "" where it is let in. */
  refusal(access: Access): string;
};

/**
 * One account and its callers, for all doors of a matrix. Each door has keys of its own to be called about, and
 * credentials are made once, but for those of sessions, which a call may end.
 */
export class Household {
  readonly #app: App;
  readonly #account: string;
  readonly #secrets = new Map<Caller, Promise<string | undefined>>();

  private constructor(app: App, account: string) {
    this.#app = app;
    this.#account = account;
  }

  static async open(app: App): Promise<Household> {
    return new Household(app, (await seedAccount(app.database, 1_000n)).account);
  }

  /** The account, with a further key of each kind. */
  async owner(): Promise<Owner> {
    const account = this.#account;
    const [api, management] = await Promise.all([
      this.#app.apiKeys.create(account, newId()),
      this.#app.managementKeys.create(account, newId(), ["account:read"]),
    ]);
    return { account, apiKeyId: api.key.id, managementKeyId: management.key.id };
  }

  secretOf(caller: Caller): Promise<string | undefined> {
    const known = this.#secrets.get(caller);
    if (known) return known;
    const secret = caller.secret(this.#app, this.#account);
    if (!caller.endsByCalls) this.#secrets.set(caller, secret);
    return secret;
  }
}

/** Every subset of the four scopes. */
const SCOPE_SETS: readonly (readonly Scope[])[] = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_, at) => bits & (1 << at)),
);

/**
 * Everyone of the matrix: nobody, the malformed, unknown, revoked and ended, `sk-`, `mk-` by every set of scopes, a
 * session, and the mightiest of another account.
 */
export const CALLERS: readonly Caller[] = [
  useless("nobody", "missing_authorization", async () => undefined),
  useless("a malformed key", "invalid_api_key", async () => "sk-1"),
  useless("a key with a wrong checksum", "invalid_api_key", async () => `mk-${"0".repeat(49)}`),
  useless("an unknown sk- key", "invalid_api_key", async () => newSecret("sk-")),
  useless("an unknown mk- key", "invalid_api_key", async () => newSecret("mk-")),
  useless("a revoked sk- key", "api_key_revoked", async (app, account) => {
    const { key, secret } = await app.apiKeys.create(account, newId());
    await app.apiKeys.revoke(account, key.id);
    return secret;
  }),
  useless("a revoked mk- key", "api_key_revoked", async (app, account) => {
    const { key, secret } = await app.managementKeys.create(account, newId(), SCOPES);
    await app.managementKeys.revoke(account, key.id);
    return secret;
  }),
  useless("a session that is over", "session_ended", async (app, account) => {
    const token = await openSession(app, account);
    await app.sessions.signOut(await app.authenticate(`Bearer ${token}`), { everywhere: false });
    return token;
  }),
  apiKey("an sk- key", false),
  ...SCOPE_SETS.map((scopes) =>
    managementKey(`an mk- key with ${scopes.join(" ") || "no scope"}`, scopes, false),
  ),
  session("a wallet session", false),
  apiKey("another account's sk- key", true),
  managementKey("another account's mk- key with every scope", SCOPES, true),
  session("another account's wallet session", true),
];

/** One whom no door lets in but the public ones. */
function useless(name: string, code: string, secret: Caller["secret"]): Caller {
  return { name, foreign: false, secret, refusal: (access) => (access === "public" ? "" : code) };
}

function apiKey(name: string, foreign: boolean): Caller {
  return {
    name,
    foreign,
    secret: async (app, account) =>
      (await app.apiKeys.create(await accountOf(app, account, foreign), newId())).secret,
    refusal: (access) => (access === "public" || access === "inference" ? "" : "insufficient_scope"),
  };
}

function managementKey(name: string, scopes: readonly Access[] & readonly Scope[], foreign: boolean): Caller {
  return {
    name,
    foreign,
    secret: async (app, account) => {
      const own = await accountOf(app, account, foreign);
      return (await app.managementKeys.create(own, newId(), scopes)).secret;
    },
    refusal: (access) =>
      access === "public" || (scopes as readonly Access[]).includes(access) ? "" : "insufficient_scope",
  };
}

function session(name: string, foreign: boolean): Caller {
  return {
    name,
    foreign,
    endsByCalls: true,
    secret: async (app, account) => openSession(app, await accountOf(app, account, foreign)),
    refusal: (access) => (access === "inference" ? "insufficient_scope" : ""),
  };
}

async function accountOf(app: App, account: string, foreign: boolean): Promise<string> {
  return foreign ? (await seedAccount(app.database, 1_000n)).account : account;
}

/** A session of this account, as signing in would open it. */
export async function openSession(app: App, account: string): Promise<string> {
  const token = newSecret("ws-");
  await insertSession(app.database, { id: newId(), account, tokenHash: hashSecret(token) }, 3_600);
  return token;
}
