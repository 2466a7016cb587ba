import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../src/db/database.ts";
import { startNetwork } from "./chain/network.ts";
import { good, type ScriptedProvider, startScripted, USAGE } from "./inference/scripted-provider.ts";
import { createServerDatabase, type OnEnd, openPatiently } from "./servers/database.ts";
import { newFolder, type ReadyProcess, startReady } from "./servers/process.ts";
import { startRedis } from "./servers/redis.ts";

export const MODEL = "slow-chat";
const PRICES = { prompt: 2n, completion: 3n };
/** What a chat with the model costs, neuron. */
export const COST =
  BigInt(USAGE.prompt_tokens) * PRICES.prompt + BigInt(USAGE.completion_tokens) * PRICES.completion;

/** Processes of the product, and a provider that answers when a test says so. */
export type SlowMarket = {
  readonly database: Database;
  readonly provider: ScriptedProvider;
  /** The settings of a process: all of them share the database. */
  readonly settings: Readonly<Record<string, string>>;
  start(settings?: Readonly<Record<string, string>>): Promise<ReadyProcess>;
  /** From now on, the provider answers a chat when the returned function was called. */
  delay(): () => void;
};

/** Starts the provider, a chain, Redis and a database on a server. */
export async function openSlowMarket(onEnd: OnEnd): Promise<SlowMarket> {
  const [{ rpcUrl }, url, redis] = await Promise.all([
    startNetwork(onEnd),
    createServerDatabase(onEnd),
    startRedis(),
  ]);
  onEnd(() => redis.stop());
  const database = await openPatiently(url, 4);
  onEnd(() => database.close());
  const provider = await startScripted();
  onEnd(() => provider.stop());
  const providersFile = join(newFolder(onEnd), "providers.json");
  const pricing = { prompt: `${PRICES.prompt}`, completion: `${PRICES.completion}` };
  const models = [{ id: MODEL, pricing }];
  writeFileSync(providersFile, JSON.stringify({ providers: [{ name: "slow", url: provider.url, models }] }));
  const settings = {
    ...{ DATABASE_URL: url, REDIS_URL: redis.url, RPC_URL: rpcUrl },
    ...{ PROVIDERS_FILE: providersFile, LOG_LEVEL: "warn" },
  };
  return {
    ...{ database, provider, settings },
    start: (own = {}) => startReady({ settings: { ...settings, DATA_DIR: newFolder(onEnd), ...own }, onEnd }),
    delay() {
      const gate = Promise.withResolvers<void>();
      provider.scripts.set(MODEL, async (...call) => {
        await gate.promise;
        await good(...call);
      });
      return gate.resolve;
    },
  };
}
