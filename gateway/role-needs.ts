import { type Config, SETTINGS } from "../src/config.ts";
import { StartupError } from "../src/kernel/errors.ts";
import { modules, type SubgraphModule } from "../subgraphs/modules.ts";
import type { Trust } from "../subgraphs/shared/caller.ts";
import type { SubgraphPlaces } from "./graph.ts";

/** What a process that is one of several has to be told. */
export type RoleNeeds =
  | { readonly role: "gateway"; readonly places: SubgraphPlaces }
  | { readonly role: "subgraph"; readonly module: SubgraphModule; readonly trust: Trust }
  | { readonly role: "worker" };

/**
 * Reads what a role needs from the settings, before anything is opened. `name` is the subgraph's. Throws one
 * `StartupError` that names every setting which is missing.
 */
export function needsOf(role: RoleNeeds["role"], name: string, config: Config): RoleNeeds {
  const module = modules.find((known) => known.name === name);
  if (role === "subgraph" && !module)
    throw new StartupError(`There is no subgraph ${name}: ${modules.map((known) => known.name).join(", ")}.`);
  const missing: string[] = [];
  const need = <Name extends keyof Config & keyof typeof SETTINGS>(setting: Name) => {
    const value = config[setting];
    if (value === undefined)
      missing.push(`  ${setting}: is missing, for example ${setting}=${SETTINGS[setting].example}\n`);
    return String(value);
  };
  need("DATABASE_URL");
  need("REDIS_URL");
  if (config.NETWORK === "devnet") need("RPC_URL");
  const secret = role === "worker" ? "" : need("INTERNAL_SECRET");
  const urls: Record<string, string> =
    role === "gateway"
      ? {
          accounts: need("ACCOUNTS_URL"),
          inference: need("INFERENCE_URL"),
          storage: need("STORAGE_URL"),
          chain: need("CHAIN_URL"),
        }
      : {};
  if (missing.length > 0)
    throw new StartupError(`The role ${role} needs more settings:\n${missing.join("")}`);
  if (role === "gateway") return { role, places: { kind: "remote", urls, secret } };
  const trust = { secret, routerSecret: config.ROUTER_SECRET };
  return role === "subgraph" && module ? { role, module, trust } : { role: "worker" };
}
