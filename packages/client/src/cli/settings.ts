import { readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "./exit.ts";

/** Which gateway, and the credentials for it. */
export type Settings = {
  /** The gateway's origin. */
  readonly url: string;
  /** Where the address comes from. */
  readonly from: "option" | "environment" | "this folder" | "default";
  readonly apiKey: string | undefined;
  readonly managementKey: string | undefined;
  readonly walletKey: string | undefined;
};

/** What a running product writes into its data folder. */
type Status = {
  readonly urls: { readonly origin: string };
  readonly keys?: Readonly<Partial<Record<"apiKey" | "managementKey" | "walletKey", string>>>;
};

const DEFAULT_URL = "http://127.0.0.1:4000";

/**
 * Reads the settings: the option, the environment, then the product that runs in this folder. Its keys are used for
 * its own address only. Throws a `UsageError` for an address that is none.
 */
export function readSettings(option: string | undefined): Settings {
  const { env } = process;
  const local = readStatus(env.DATA_DIR ?? ".data");
  const given = option ?? (env.ZEROGRAPH_URL || undefined);
  const url = originOf(given ?? local?.urls.origin ?? DEFAULT_URL);
  const keys = local && url === originOf(local.urls.origin) ? local.keys : undefined;
  const from =
    option !== undefined ? "option" : given !== undefined ? "environment" : local ? "this folder" : "default";
  return {
    url,
    from,
    apiKey: env.ZEROGRAPH_KEY ?? keys?.apiKey,
    managementKey: env.ZEROGRAPH_MANAGEMENT_KEY ?? keys?.managementKey,
    walletKey: env.ZEROGRAPH_WALLET_KEY ?? keys?.walletKey,
  };
}

/** A credential that a command cannot do without. Throws a `UsageError` that says where it comes from. */
export function required(value: string | undefined, name: string, what: string): string {
  if (value) return value;
  throw new UsageError(`Set ${name} to ${what}.`);
}

function originOf(url: string): string {
  try {
    const { origin } = new URL(url);
    if (origin !== "null") return origin;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${url} is not an address such as https://router.example.`);
}

function readStatus(folder: string): Status | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "status.json"), "utf8")) as Status;
  } catch {
    return undefined;
  }
}
