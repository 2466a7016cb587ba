import type { z } from "zod";
import { loadEnvFile } from "./env-file.ts";
import { StartupError } from "./kernel/errors.ts";
import type { Hex } from "./kernel/text/hex.ts";
import { DEPOSIT_SETTINGS, NETWORK_SETTINGS } from "./settings/chain.ts";
import { GRAPH_SETTINGS } from "./settings/graph.ts";
import { JOB_SETTINGS, PROVIDER_SETTINGS } from "./settings/inference.ts";
import { NODE_SETTINGS } from "./settings/node.ts";
import { OPERATION_SETTINGS } from "./settings/operation.ts";
import { LISTENING_SETTINGS, PROCESS_SETTINGS, RATE_LIMIT_SETTINGS } from "./settings/server.ts";
import { STATE_SETTINGS } from "./settings/state.ts";
import { FILE_SETTINGS, KV_SETTINGS } from "./settings/storage.ts";

/** Every environment variable that the product reads. `.env.example` lists the same; a test compares the two. */
export const SETTINGS = {
  ...NETWORK_SETTINGS,
  ...LISTENING_SETTINGS,
  ...STATE_SETTINGS,
  ...DEPOSIT_SETTINGS,
  ...PROCESS_SETTINGS,
  ...PROVIDER_SETTINGS,
  ...JOB_SETTINGS,
  ...FILE_SETTINGS,
  ...KV_SETTINGS,
  ...GRAPH_SETTINGS,
  ...RATE_LIMIT_SETTINGS,
  ...NODE_SETTINGS,
  ...OPERATION_SETTINGS,
};

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
  loadEnvFile(process.env, Object.keys(SETTINGS));
  return process.env;
}

function readSettings(environment: Environment): {
  readonly config: Config;
  readonly mistakes: readonly string[];
} {
  const values: Record<string, unknown> = {};
  const mistakes: string[] = [];
  for (const [name, { schema, example }] of Object.entries(SETTINGS)) {
    const text = environment[name];
    const result = schema.safeParse(text === "" ? undefined : text);
    if (result.success) values[name] = result.data;
    else
      mistakes.push(
        `${name}: ${result.error.issues[0]?.message ?? "malformed"}, for example ${name}=${example}`,
      );
  }
  return { config: values as Config, mistakes };
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
  if (config.REDIS_URL && !config.DATABASE_URL)
    found.push(
      missing(
        "DATABASE_URL",
        "required with REDIS_URL: several processes cannot share the embedded database",
      ),
    );
  if (config.PROCESSES !== 1)
    for (const name of ["DATABASE_URL", "REDIS_URL"] as const)
      if (!config[name]) found.push(missing(name, "required with PROCESSES"));
  if (config.PROCESSES !== 1 && config.NETWORK === "devnet" && !config.RPC_URL)
    found.push(missing("RPC_URL", "required with PROCESSES and NETWORK=devnet"));
  if (config.TRUSTED_DOCUMENTS_ONLY === "on" && !config.TRUSTED_DOCUMENTS)
    found.push(missing("TRUSTED_DOCUMENTS", "required with TRUSTED_DOCUMENTS_ONLY=on"));
  return found;
}

/** A variable that is no setting, such as one that PROVIDERS_FILE references; undefined when it is unset or empty. */
export function readVariable(name: string): string | undefined {
  return process.env[name] || undefined;
}

/** The environment of this process and these variables, for a process that it starts. */
export function childEnvironment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...more };
}
