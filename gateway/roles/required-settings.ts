import { type Config, SETTINGS } from "../../src/config.ts";
import { StartupError } from "../../src/kernel/errors.ts";

type Setting = keyof Config & keyof typeof SETTINGS;

/**
 * Checks, before anything is opened, the settings that a process needs when it is one of several: the shared
 * database and bus, and the settings of its role. Throws one `StartupError` that names every missing setting.
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
