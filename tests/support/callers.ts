import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { newId } from "../../src/kernel/ids.ts";
import { type Access, SCOPES, type Scope } from "../../src/keys/principal.ts";
import { newSecret } from "../../src/keys/secret.ts";
import { seedAccount } from "./seed.ts";
import { signInAs } from "./sign-in.ts";
import type { Stack } from "./stack.ts";

/** Somebody who calls, and what the permission matrix of SPEC 5.3 says of it. */
export type Caller = {
  readonly name: string;
  /** Makes its credential, fresh for one call: a session may end by the call. */
  credential(stack: Stack): Promise<string | undefined>;
  /** The code with which it is refused at a door of this access; "" where it is let in. */
  refusal(access: Access): string;
};

/** Every subset of the four scopes. */
const SCOPE_SETS: readonly (readonly Scope[])[] = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_, at) => bits & (1 << at)),
);

/** Everyone of the matrix: nobody, the malformed, unknown, revoked and ended, `sk-`, `mk-` by every set of scopes, a session. */
export const CALLERS: readonly Caller[] = [
  stranger("nobody", "missing_authorization", async () => undefined),
  stranger("a malformed key", "invalid_api_key", async () => "sk-1"),
  stranger("a key with a wrong checksum", "invalid_api_key", async () => `mk-${"0".repeat(49)}`),
  stranger("an unknown sk- key", "invalid_api_key", async () => newSecret("sk-")),
  stranger("an unknown mk- key", "invalid_api_key", async () => newSecret("mk-")),
  stranger("a revoked sk- key", "api_key_revoked", async ({ app }) => {
    const { account, keyId, secret } = await seedAccount(app.database, 1_000n);
    await app.apiKeys.revoke(account, keyId);
    return secret;
  }),
  stranger("a revoked mk- key", "api_key_revoked", async ({ app }) => {
    const { account } = await seedAccount(app.database, 1_000n);
    const { key, secret } = await app.managementKeys.create(account, newId(), SCOPES);
    await app.managementKeys.revoke(account, key.id);
    return secret;
  }),
  stranger("a session that is over", "session_ended", async ({ app, origin }) => {
    const token = await openSession(origin);
    await app.sessions.signOut(await app.authenticate(`Bearer ${token}`), { everywhere: false });
    return token;
  }),
  {
    name: "an sk- key",
    credential: async ({ app }) => (await seedAccount(app.database, 1_000n)).secret,
    refusal: (access) => (access === "public" || access === "inference" ? "" : "insufficient_scope"),
  },
  ...SCOPE_SETS.map((scopes) => ({
    name: `an mk- key with ${scopes.join(" ") || "no scope"}`,
    credential: async ({ app }: Stack) => {
      const { account } = await seedAccount(app.database, 1_000n);
      return (await app.managementKeys.create(account, newId(), scopes)).secret;
    },
    refusal: (access: Access) =>
      access === "public" || (scopes as readonly Access[]).includes(access) ? "" : "insufficient_scope",
  })),
  {
    name: "a wallet session",
    credential: ({ origin }) => openSession(origin),
    refusal: (access) => (access === "inference" ? "insufficient_scope" : ""),
  },
];

/** The codes of a refusal; whoever is let in sees none of them. */
export const REFUSALS: readonly string[] = [
  "missing_authorization",
  "invalid_api_key",
  "api_key_revoked",
  "session_ended",
  "insufficient_scope",
];

async function openSession(origin: string): Promise<string> {
  return (await signInAs(origin, privateKeyToAccount(generatePrivateKey()))).token;
}

/** One whom no door lets in but the public ones. */
function stranger(name: string, code: string, credential: Caller["credential"]): Caller {
  return { name, credential, refusal: (access) => (access === "public" ? "" : code) };
}
