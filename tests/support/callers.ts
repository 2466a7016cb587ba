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
  /** Makes its credential, fresh for one call: a session may end by the call. */
  secret(app: App, owner: Owner): Promise<string | undefined>;
  /** The code with which it is refused at a door of this access; "" where it is let in. */
  refusal(access: Access): string;
};

/** Opens an account with one key of each kind. */
export async function newOwner(app: App): Promise<Owner> {
  const { account, keyId } = await seedAccount(app.database, 1_000n);
  const { key } = await app.managementKeys.create(account, newId(), ["account:read"]);
  return { account, apiKeyId: keyId, managementKeyId: key.id };
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
  useless("a revoked sk- key", "api_key_revoked", async (app, { account }) => {
    const { key, secret } = await app.apiKeys.create(account, newId());
    await app.apiKeys.revoke(account, key.id);
    return secret;
  }),
  useless("a revoked mk- key", "api_key_revoked", async (app, { account }) => {
    const { key, secret } = await app.managementKeys.create(account, newId(), SCOPES);
    await app.managementKeys.revoke(account, key.id);
    return secret;
  }),
  useless("a session that is over", "session_ended", async (app, { account }) => {
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
    secret: async (app, owner) =>
      (await app.apiKeys.create(await accountOf(app, owner, foreign), newId())).secret,
    refusal: (access) => (access === "public" || access === "inference" ? "" : "insufficient_scope"),
  };
}

function managementKey(name: string, scopes: readonly Access[] & readonly Scope[], foreign: boolean): Caller {
  return {
    name,
    foreign,
    secret: async (app, owner) => {
      const account = await accountOf(app, owner, foreign);
      return (await app.managementKeys.create(account, newId(), scopes)).secret;
    },
    refusal: (access) =>
      access === "public" || (scopes as readonly Access[]).includes(access) ? "" : "insufficient_scope",
  };
}

function session(name: string, foreign: boolean): Caller {
  return {
    name,
    foreign,
    secret: async (app, owner) => openSession(app, await accountOf(app, owner, foreign)),
    refusal: (access) => (access === "inference" ? "insufficient_scope" : ""),
  };
}

async function accountOf(app: App, { account }: Owner, foreign: boolean): Promise<string> {
  return foreign ? (await seedAccount(app.database, 1_000n)).account : account;
}

/** A session of this account, as signing in would open it. */
export async function openSession(app: App, account: string): Promise<string> {
  const token = newSecret("ws-");
  await insertSession(app.database, { id: newId(), account, tokenHash: hashSecret(token) }, 3_600);
  return token;
}
