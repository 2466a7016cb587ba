import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { WaitingClock } from "../../src/kernel/clock.ts";
import { type ScriptedProvider, startScripted } from "./inference/scripted-provider.ts";
import { type Seeded, seedAccount } from "./seed.ts";
import type { DatabaseKind } from "./servers/database.ts";
import { type Stack, useStack } from "./stack.ts";

/** Neuron per token of each provider: the first is the cheapest, and so tried first. */
export const PRICES = [
  { prompt: 2n, completion: 3n },
  { prompt: 5n, completion: 7n },
  { prompt: 11n, completion: 13n },
] as const;

/** Deadlines short enough for tests, milliseconds. */
const QUICK = {
  PROVIDER_CONNECT_MS: "1000",
  PROVIDER_FIRST_BYTE_MS: "1500",
  PROVIDER_FIRST_TOKEN_MS: "1000",
  PROVIDER_SILENCE_MS: "1500",
  PROVIDER_TOTAL_MS: "12000",
  PROVIDER_COOL_DOWN_MS: "500",
} as const;

/** A stack whose providers are scripted servers, all of which offer all of `models`. */
export type RouterStack = Stack & {
  readonly scripted: readonly ScriptedProvider[];
  /** Opens an account with ample balance, or exactly the given one. */
  seed(neuron?: bigint): Promise<Seeded>;
  /** Makes the `n`th provider offer this too, from now on. */
  offer(n: number, entry: OfferEntry): Promise<void>;
  chat(seeded: Seeded, body: object, headers?: Record<string, string>): Promise<Response>;
};

/** An offer in the format of PROVIDERS_FILE. */
type OfferEntry = { readonly id: string; readonly pricing: object } & Readonly<Record<string, unknown>>;

/** Starts `count` scripted providers and a stack over them. Call it at the top level of a test file. */
export async function useRouter(given: {
  readonly models: readonly string[];
  readonly count?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Further offers of the `n`th provider. */
  readonly more?: (n: number) => readonly OfferEntry[];
  /** The environment variable with the key of all providers. */
  readonly keyVariable?: string;
  /** By default any. */
  readonly database?: DatabaseKind;
  /** By default the system's. */
  readonly clock?: WaitingClock;
}): Promise<() => RouterStack> {
  const { models, count = 2, settings = {}, more = () => [], keyVariable, database, clock } = given;
  const scripted = await Promise.all(Array.from({ length: count }, startScripted));
  const folder = mkdtempSync(join(tmpdir(), "router-"));
  const path = join(folder, "providers.json");
  const servers = scripted.map(({ url }, n) => {
    const { prompt, completion } = PRICES[n] ?? PRICES[0];
    const pricing = { prompt: String(prompt), completion: String(completion) };
    const offers: OfferEntry[] = [...models.map((id) => ({ id, pricing })), ...more(n)];
    return { name: `scripted-${n}`, url, models: offers, ...(keyVariable && { api_key_env: keyVariable }) };
  });
  const write = () => writeFileSync(path, JSON.stringify({ providers: servers }));
  write();
  const stack = useStack({ ...QUICK, ...settings, PROVIDERS_FILE: path }, database, clock);
  afterAll(async () => {
    await Promise.all(scripted.map((provider) => provider.stop()));
    rmSync(folder, { recursive: true });
  });
  return () => {
    const { app, origin } = stack();
    return {
      ...stack(),
      scripted,
      async offer(n, entry) {
        const offers = servers[n]?.models ?? [];
        const known = offers.findIndex(({ id }) => id === entry.id);
        offers.splice(known < 0 ? offers.length : known, 1, entry);
        write();
        await app.catalogue.refresh();
      },
      seed: (neuron = 10_000_000n) => seedAccount(app.database, neuron),
      chat: (seeded, body, headers = {}) =>
        fetch(`${origin}/v1/chat/completions`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${seeded.secret}`,
            ...headers,
          },
          body: JSON.stringify({ messages: [{ role: "user", content: "What is the sea?" }], ...body }),
        }),
    };
  };
}
