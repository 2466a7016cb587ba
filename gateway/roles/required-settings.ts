import { type Config, SETTINGS } from "../../src/config.ts";
import { StartupError } from "../../src/kernel/errors.ts";

type Setting = keyof Config & keyof typeof SETTINGS;

/**
 * What a process that is one of several has to be told, before anything is opened: where the common database and bus
 * are, and what its role needs besides. Throws one `StartupError` that names every setting which is missing.
 */
export function requireSettings<Name extends Setting = never>(
  role: string,
  config: Config,
  names: readonly Name[] = [],
): Readonly<Record<Name, string>> {
  const common: readonly Setting[] = ["DATABASE_URL", "REDIS_URL", ...onDevnet(config)];
  const missing = [...common, ...names].filter((name) => config[name] === undefined);
  if (missing.length > 0) {
    const lines = missing.map(
      (name) => `  ${name}: is missing, for example ${name}=${SETTINGS[name].example}\n`,
    );
    throw new StartupError(`The role ${role} needs more settings:\n${lines.join("")}`);
  }
  return Object.fromEntries(names.map((name) => [name, String(config[name])])) as Record<Name, string>;
}

function onDevnet({ NETWORK }: Config): readonly Setting[] {
  return NETWORK === "devnet" ? ["RPC_URL"] : [];
}
