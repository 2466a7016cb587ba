import type { z } from "zod";
import { parseVaultEvent, toVaultEvent } from "./accounts/vault-event.ts";
import { addPasswords } from "./connection-passwords.ts";
import { loadEnvFile, misspellings } from "./env-file.ts";
import { parseRedisUrl } from "./events/redis-address.ts";
import { StartupError } from "./kernel/errors.ts";
import type { Hex } from "./kernel/text/hex.ts";
import { largestBodyBytes } from "./load/memory-budget.ts";
import { FILE_SUFFIX, readSecret } from "./secret-files.ts";
import { DEPOSIT_SETTINGS, NETWORK_SETTINGS } from "./settings/chain.ts";
import { GRAPH_SETTINGS } from "./settings/graph.ts";
import { BATCH_SETTINGS, JOB_SETTINGS, PROVIDER_SETTINGS } from "./settings/inference.ts";
import { NODE_SETTINGS } from "./settings/node.ts";
import { OPERATION_SETTINGS } from "./settings/operation.ts";
import { readSetting } from "./settings/read-setting.ts";
import { LISTENING_SETTINGS, PROCESS_SETTINGS, RATE_LIMIT_SETTINGS } from "./settings/server.ts";
import { RECEIPT_SETTINGS, STATE_SETTINGS } from "./settings/state.ts";
import { FILE_SETTINGS, KV_SETTINGS } from "./settings/storage.ts";
import type { Setting } from "./settings/values.ts";

const MIB = 1_048_576;

/** Every environment variable that the product reads. `.env.example` lists the same; a test compares the two. */
export const SETTINGS = {
  ...NETWORK_SETTINGS,
  ...LISTENING_SETTINGS,
  ...STATE_SETTINGS,
  ...RECEIPT_SETTINGS,
  ...DEPOSIT_SETTINGS,
  ...PROCESS_SETTINGS,
  ...PROVIDER_SETTINGS,
  ...JOB_SETTINGS,
  ...BATCH_SETTINGS,
  ...FILE_SETTINGS,
  ...KV_SETTINGS,
  ...GRAPH_SETTINGS,
  ...RATE_LIMIT_SETTINGS,
  ...NODE_SETTINGS,
  ...OPERATION_SETTINGS,
};

/** The settings that may be in a file, which `<name>_FILE` names. */
export const SECRETS: readonly string[] = Object.entries<Setting>(SETTINGS).flatMap(([name, { isSecret }]) =>
  isSecret ? [name] : [],
);

/** The names of all variables that are read. */
const SETTING_NAMES: readonly string[] = [
  ...Object.keys(SETTINGS),
  ...SECRETS.map((name) => name + FILE_SUFFIX),
];

type Values = { readonly [Name in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[Name]["schema"]> };

/** The settings as the product uses them. */
export type Config = Omit<Values, "ROUTER_PRIVATE_KEY" | "VAULT_ADDRESS"> & {
  readonly ROUTER_PRIVATE_KEY: Hex | undefined;
  readonly VAULT_ADDRESS: Hex | undefined;
};

/**
 * Reads the settings from `environment`, by default the process environment and `.env`. Throws one `StartupError` that
 * names every mistake at once.
 */
export function readConfig(environment = processEnvironment()): Config {
  const { config, mistakes } = readSettings(environment);
  return orThrow(config, [...mistakes, ...conflicts(config, mistakes.length > 0)]);
}

/** The same for a command that starts nothing: settings that only a server requires may be missing. */
export function readPartialConfig(environment = processEnvironment()): Config {
  const { config, mistakes } = readSettings(environment);
  return orThrow(config, mistakes);
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Loads `.env` into `process.env`, also for variables read by name: those of PROVIDERS_FILE and of libraries. */
function processEnvironment(): Environment {
  loadEnvFile(process.env, SETTING_NAMES);
  return process.env;
}

/**
 * A sentence for each variable that looks like a misspelling of a setting which is not set. It may be right all the same:
 * other programs read the environment too.
 */
export function likelyMisspellings(environment: Environment = process.env): readonly string[] {
  const unset = SETTING_NAMES.filter((name) => environment[name] === undefined);
  const others = Object.keys(environment).filter((name) => !SETTING_NAMES.includes(name));
  return misspellings(others, unset);
}

function readSettings(environment: Environment): {
  readonly config: Config;
  readonly mistakes: readonly string[];
} {
  const values: Record<string, unknown> = {};
  const mistakes: string[] = [];
  const note = (read: () => void) => {
    try {
      read();
    } catch (error) {
      mistakes.push((error as Error).message);
    }
  };
  for (const [name, setting] of Object.entries<Setting>(SETTINGS))
    note(() => {
      const text = setting.isSecret ? readSecret(environment, name, setting.mayBeEmpty) : environment[name];
      values[name] = readSetting(name, setting, text === "" ? undefined : text);
    });
  const config = values as Config;
  if (mistakes.length === 0) note(() => Object.assign(config, addPasswords(config)));
  return { config, mistakes };
}

function orThrow(config: Config, mistakes: readonly string[]): Config {
  if (mistakes.length > 0)
    throw new StartupError(`The configuration is wrong:\n${mistakes.map((line) => `  ${line}\n`).join("")}`);
  return config;
}

function conflicts(config: Config, isPartial: boolean): readonly string[] {
  if (isPartial) return [];
  const missing = (name: keyof typeof SETTINGS, why: string) =>
    `${name}: ${why}, for example ${name}=${SETTINGS[name].example}`;
  const found: string[] = [];
  if (config.NETWORK !== "devnet" && !config.ROUTER_PRIVATE_KEY)
    found.push(missing("ROUTER_PRIVATE_KEY", `required with NETWORK=${config.NETWORK}`));
  try {
    parseVaultEvent(toVaultEvent(config));
  } catch (error) {
    found.push((error as Error).message);
  }
  if (config.REDIS_URL && !config.DATABASE_URL)
    found.push(
      missing(
        "DATABASE_URL",
        "required with REDIS_URL: several processes cannot share the embedded database",
      ),
    );
  if (config.DATABASE_REPLICA_URL && !config.DATABASE_URL)
    found.push(missing("DATABASE_URL", "required with DATABASE_REPLICA_URL"));
  if (config.DATABASE_POOLER !== "none" && !config.DATABASE_URL)
    found.push(missing("DATABASE_URL", "required with DATABASE_POOLER"));
  found.push(...redisConflicts(config));
  // The development network appraises without it.
  if (config.ATTESTATION_MEASUREMENTS && !config.ATTESTATION_COLLATERAL_URL && config.NETWORK !== "devnet")
    found.push(missing("ATTESTATION_COLLATERAL_URL", "required with ATTESTATION_MEASUREMENTS"));
  for (const name of ["RETENTION_REQUESTS_MONTHS", "RETENTION_LEDGER_MONTHS"] as const)
    if (config[name] !== undefined && !config.RETENTION_ARCHIVE_FOLDER)
      found.push(missing("RETENTION_ARCHIVE_FOLDER", `required with ${name}`));
  if (config.PROCESSES !== 1)
    for (const name of ["DATABASE_URL", "REDIS_URL"] as const)
      if (!config[name]) found.push(missing(name, "required with PROCESSES"));
  if (config.PROCESSES !== 1 && config.NETWORK === "devnet" && !config.RPC_URL)
    found.push(missing("RPC_URL", "required with PROCESSES and NETWORK=devnet"));
  if (config.TRUSTED_DOCUMENTS_ONLY === "on" && !config.TRUSTED_DOCUMENTS)
    found.push(missing("TRUSTED_DOCUMENTS", "required with TRUSTED_DOCUMENTS_ONLY=on"));
  const mostPromptMib = Math.floor(largestBodyBytes(config.REQUEST_MEMORY_MIB * MIB) / MIB);
  if (config.MAX_PROMPT_MIB > mostPromptMib)
    found.push(
      `MAX_PROMPT_MIB: must be at most ${mostPromptMib} with REQUEST_MEMORY_MIB=${config.REQUEST_MEMORY_MIB}, for example MAX_PROMPT_MIB=${mostPromptMib}`,
    );
  return found;
}

/** Settings that would have no effect on the connections to Redis: an operator who sets them relies on them. */
function redisConflicts({ REDIS_URL, REDIS_CA_FILE, REDIS_SENTINEL_PASSWORD }: Config): readonly string[] {
  const address = REDIS_URL === undefined ? undefined : parseRedisUrl(REDIS_URL);
  const found: string[] = [];
  if (REDIS_CA_FILE !== undefined && !address?.isEncrypted)
    found.push("REDIS_CA_FILE: requires TLS, for example REDIS_URL=rediss://host:6379");
  if (REDIS_SENTINEL_PASSWORD !== undefined && address?.kind !== "sentinel")
    found.push(
      "REDIS_SENTINEL_PASSWORD: requires sentinels, for example REDIS_URL=redis+sentinel://host1:26379,host2:26379/mymaster",
    );
  return found;
}

/**
 * A variable that is no setting, such as one that PROVIDERS_FILE references, or the content of the file that
 * `<name>_FILE` names; undefined when it is unset or empty. Throws an `Error` for a file that cannot be read.
 */
export function readVariable(name: string): string | undefined {
  return readSecret(process.env, name) || undefined;
}

/** The environment of this process and these variables, for a process that it starts. */
export function childEnvironment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...more };
}
