import { readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "./exit.ts";

/** Which gateway, and the credentials for it. */
export type Settings = {
  /** The gateway's address: its origin, and the path of a proxy in front of it if there is one. */
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
 * its own address only. Throws a `UsageError` for an address that is none, and a malformed key.
 */
export function readSettings(option: string | undefined): Settings {
  const { env } = process;
  const local = readStatus(env.DATA_DIR ?? ".data");
  const given = option ?? (env.ZEROGRAPH_URL || undefined);
  const url = addressOf(given ?? local?.urls.origin ?? DEFAULT_URL);
  const keys = local && url === addressOf(local.urls.origin) ? local.keys : undefined;
  const from =
    option !== undefined ? "option" : given !== undefined ? "environment" : local ? "this folder" : "default";
  return {
    url,
    from,
    apiKey: keyIn(env, "ZEROGRAPH_KEY") ?? keys?.apiKey,
    managementKey: keyIn(env, "ZEROGRAPH_MANAGEMENT_KEY") ?? keys?.managementKey,
    walletKey: keyIn(env, "ZEROGRAPH_WALLET_KEY") ?? keys?.walletKey,
  };
}

/** A credential that a command cannot do without. Throws a `UsageError` that says where it comes from. */
export function required(value: string | undefined, name: string, what: string): string {
  if (value) return value;
  throw new UsageError(`Set ${name} to ${what}.`);
}

/** A key of the environment; an empty one is not set. Throws a `UsageError` for one that no header can have. */
function keyIn(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const key = env[name];
  if (!key) return undefined;
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError(`${name} has a space, a line break or a character that no key has.`);
}

/** Without what clients append themselves: the banner of the product shows addresses of its graph and of `/v1`. */
function addressOf(text: string): string {
  const url = URL.parse(text);
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  const hasMore = url && (url.username !== "" || url.password !== "" || /[?#]/.test(text));
  if (url && isWeb && !hasMore) return url.origin + url.pathname.replace(/(?:\/(?:graphql|v1))?\/*$/, "");
  throw new UsageError(
    isWeb
      ? "The address of a gateway has no password, query or fragment."
      : `${text} is not an address such as https://router.example.`,
  );
}

function readStatus(folder: string): Status | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "status.json"), "utf8")) as Status;
  } catch {
    return undefined;
  }
}
