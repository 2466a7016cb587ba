import type { App } from "../../src/app.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import type { Action } from "../../src/keys/auth/permissions.ts";
import { SCOPES, type Scope } from "../../src/keys/auth/principal.ts";
import { hashSecret, newSecret } from "../../src/keys/auth/secret.ts";
import { insertSession } from "../../src/keys/sessions/session.store.ts";
import { seedAccount } from "./seed.ts";

/**
 * The permissions of every action, repeated by hand (SPEC 5.3, schema/choices.md): `sk-` keys only, wallet
 * sessions only, a scope or a wallet session; jobs also by the key that created them, and their content
 * without management keys; credits by whatever reads the account, and by `sk-` keys.
 */
type Requirement = "inference" | "session" | Scope | "job" | "job content" | "credits";
const REQUIREMENTS: Readonly<Record<Action, Requirement>> = {
  "inference.run": "inference",
  "routing.preview": "inference",
  "job.submit": "inference",
  "job.read": "job",
  "job.content": "job content",
  "job.cancel": "job content",
  "account.read": "account:read",
  "balance.read": "account:read",
  "deposit.read": "account:read",
  "usage.read": "account:read",
  "request.read": "account:read",
  "receipt.read": "job",
  "generation.read": "job",
  "own-key.read": "inference",
  "credits.read": "credits",
  "api-key.read": "keys:read",
  "api-key.create": "keys:create",
  "api-key.update": "keys:manage",
  "api-key.revoke": "keys:manage",
  "management-key.read": "session",
  "management-key.create": "session",
  "management-key.update": "session",
  "management-key.revoke": "session",
  "tag-budget.read": "account:read",
  "tag-budget.manage": "keys:manage",
  "webhook.read": "account:read",
  "webhook.manage": "keys:manage",
  "session.read": "session",
  "session.end": "session",
  "node.read": "account:read",
  "operations.read": "account:read",
  "operations.manage": "session",
};

/** Public, or an action. */
export type Access = "public" | Action;

/** An account with balance and one key of each kind, which are the objects of the calls. */
export type Owner = {
  readonly account: string;
  readonly apiKeyId: string;
  readonly managementKeyId: string;
};

/** A caller, and its permissions by the matrix of SPEC 5.3. */
export type Caller = {
  readonly name: string;
  /** Whether it belongs to another account than the owner's. */
  readonly foreign: boolean;
  /** Whether a call may end its credential, as with a session. */
  readonly endsByCalls?: boolean;
  /** Of `sk-` keys: whether it is the one that created the owner's objects. */
  readonly isMaker?: boolean;
  /** Of `sk-` keys: whether its restrictions exclude the requested models. */
  readonly isRestricted?: boolean;
  /** Creates its credential; `owner` has the account that the calls are about. */
  secret(app: App, owner: Home): Promise<string | undefined>;
  /** The error code with which it is refused this access; "" if it is permitted. */
  refusal(access: Access): string;
};

/** An account, and the `sk-` key that creates its jobs. */
export type Home = { readonly account: string; readonly keyId: string; readonly secret: string };

/**
 * One account and its callers, for all operations of a matrix. Each operation has its own keys as objects,
 * and credentials are created once, except those of sessions, which a call may end.
 */
export class CallerFixture {
  readonly #app: App;
  readonly home: Home;
  readonly #secrets = new Map<Caller, Promise<string | undefined>>();

  private constructor(app: App, home: Home) {
    this.#app = app;
    this.home = home;
  }

  static async open(app: App, neuron = 1_000n): Promise<CallerFixture> {
    return new CallerFixture(app, await seedAccount(app.database, neuron));
  }

  /** The account, with a further key of each kind. */
  async owner(): Promise<Owner> {
    const { account } = this.home;
    const [api, management] = await Promise.all([
      this.#app.apiKeys.create(account, newId()),
      this.#app.managementKeys.create(account, newId(), ["account:read"]),
    ]);
    return { account, apiKeyId: api.key.id, managementKeyId: management.key.id };
  }

  secretOf(caller: Caller): Promise<string | undefined> {
    const known = this.#secrets.get(caller);
    if (known) return known;
    const secret = caller.secret(this.#app, this.home);
    if (!caller.endsByCalls) this.#secrets.set(caller, secret);
    return secret;
  }
}

/** Every subset of the four scopes. */
const SCOPE_SETS: readonly (readonly Scope[])[] = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_, at) => bits & (1 << at)),
);

/**
 * Every caller of the matrix: anonymous, malformed, unknown, revoked and expired, `sk-`, `mk-` with every set
 * of scopes, a session, and the most privileged of another account.
 */
export const CALLERS: readonly Caller[] = [
  withoutAccess("nobody", "missing_authorization", async () => undefined),
  withoutAccess("a malformed key", "invalid_api_key", async () => "sk-1"),
  withoutAccess("a key with a wrong checksum", "invalid_api_key", async () => `mk-${"0".repeat(49)}`),
  withoutAccess("an unknown sk- key", "invalid_api_key", async () => newSecret("sk-")),
  withoutAccess("an unknown mk- key", "invalid_api_key", async () => newSecret("mk-")),
  withoutAccess("a revoked sk- key", "api_key_revoked", async (app, { account }) => {
    const { key, secret } = await app.apiKeys.create(account, newId());
    await app.apiKeys.revoke(account, key.id);
    return secret;
  }),
  withoutAccess("a revoked mk- key", "api_key_revoked", async (app, { account }) => {
    const { key, secret } = await app.managementKeys.create(account, newId(), SCOPES);
    await app.managementKeys.revoke(account, key.id);
    return secret;
  }),
  withoutAccess("a session that is over", "session_ended", async (app, { account }) => {
    const token = await openSession(app, account);
    await app.sessions.signOut(await app.authenticate(`Bearer ${token}`), { everywhere: false });
    return token;
  }),
  withoutAccess("an expired sk- key", "api_key_expired", async (app, { account }) => {
    const { key, secret } = await app.apiKeys.create(account, newId());
    await app.database.rows("update api_key set expires_at = now() - interval '1 day' where id = $1::uuid", [
      key.id,
    ]);
    return secret;
  }),
  { ...apiKey("the sk- key that made it", async (_app, { secret }) => secret), isMaker: true },
  apiKey("another sk- key", (app, { account }) => newApiKey(app, account)),
  {
    ...apiKey("an sk- key without credit, for other models and providers", (app, { account }) =>
      newApiKey(app, account, {
        creditLimit: 0n,
        allowedModels: ["another"],
        allowedProviders: [`0x${"9".repeat(40)}`],
      }),
    ),
    isRestricted: true,
  },
  ...SCOPE_SETS.map((scopes) =>
    managementKey(`an mk- key with ${scopes.join(" ") || "no scope"}`, scopes, false),
  ),
  session("a wallet session", false),
  {
    ...apiKey("another account's sk- key", async (app) => (await seedAccount(app.database, 1_000n)).secret),
    foreign: true,
  },
  managementKey("another account's mk- key with every scope", SCOPES, true),
  session("another account's wallet session", true),
];

/** A caller that is permitted only public access. */
function withoutAccess(name: string, code: string, secret: Caller["secret"]): Caller {
  return { name, foreign: false, secret, refusal: (access) => (access === "public" ? "" : code) };
}

function apiKey(name: string, secret: Caller["secret"]): Caller {
  const doors: readonly Requirement[] = ["inference", "job", "job content", "credits"];
  return { name, foreign: false, secret, refusal: (access) => codeFor(access, doors) };
}

async function newApiKey(
  app: App,
  account: string,
  settings: Parameters<App["apiKeys"]["create"]>[2] = {},
): Promise<string> {
  return (await app.apiKeys.create(account, newId(), settings)).secret;
}

function managementKey(name: string, scopes: readonly Scope[], foreign: boolean): Caller {
  const doors: readonly Requirement[] = [
    ...scopes,
    ...(scopes.includes("account:read") ? (["job", "credits"] as const) : []),
  ];
  return {
    name,
    foreign,
    secret: async (app, { account }) => {
      const own = await accountOf(app, account, foreign);
      return (await app.managementKeys.create(own, newId(), scopes)).secret;
    },
    refusal: (access) => codeFor(access, doors),
  };
}

function session(name: string, foreign: boolean): Caller {
  const doors: readonly Requirement[] = ["session", "job", "job content", "credits", ...SCOPES];
  return {
    name,
    foreign,
    endsByCalls: true,
    secret: async (app, { account }) => openSession(app, await accountOf(app, account, foreign)),
    refusal: (access) => codeFor(access, doors),
  };
}

function codeFor(access: Access, doors: readonly Requirement[]): string {
  return access === "public" || doors.includes(REQUIREMENTS[access]) ? "" : "insufficient_scope";
}

async function accountOf(app: App, account: string, foreign: boolean): Promise<string> {
  return foreign ? (await seedAccount(app.database, 1_000n)).account : account;
}

/** A session of this account, as signing in would open it. */
export async function openSession(app: Pick<App, "database">, account: string): Promise<string> {
  const token = newSecret("ws-");
  await insertSession(app.database, { id: newId(), account, tokenHash: hashSecret(token) }, 3_600);
  return token;
}
