import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The status of a running process: the banner for people, `npm run status -- --json` for programs. */
export type Status = {
  readonly network: string;
  readonly development: boolean;
  readonly pid: number;
  readonly urls: Readonly<
    Record<"origin" | "dashboard" | "openai" | "graphql" | "websocket" | "sse" | "indexer", string>
  >;
  /** The development network's chain, for wallets and for storage uploads. */
  readonly chain?: { readonly rpcUrl: string; readonly id: number };
  /** `walletKey` is the private key of the demo account, which is public. */
  readonly keys?: Readonly<Record<"apiKey" | "managementKey" | "walletKey", string>>;
  readonly commands?: Readonly<Record<"chat" | "query" | "subscribe", string>>;
};

/** The keys, the model and the chain of a development network, for trying the product. */
export type Demo = NonNullable<Status["keys"]> & {
  readonly model: string;
  readonly chain: NonNullable<Status["chain"]>;
};

/** The query of the banner. */
export const BANNER_QUERY =
  "{ viewer { account { address balance { available held } requests(first: 3) { edges { node { id status cost { total } provider { address } } } } } } }";
/** The subscription of the banner. */
export const BANNER_SUBSCRIPTION =
  "subscription { balanceChanged { cursor cause balance { available held } } }";

/** The status of a gateway at `origin`. A demo adds its keys and ready-to-run commands. */
export function toStatus(given: { network: string; origin: string; demo?: Demo }): Status {
  const { network, origin, demo } = given;
  const urls = {
    origin,
    dashboard: `${origin}/dashboard/`,
    openai: `${origin}/v1`,
    graphql: `${origin}/graphql`,
    websocket: `${origin.replace(/^http/, "ws")}/graphql`,
    sse: `${origin}/graphql/stream`,
    indexer: origin,
  };
  const status = { network, development: network === "devnet", pid: process.pid, urls };
  if (!demo) return status;
  const { apiKey, managementKey, walletKey, model, chain } = demo;
  const chat = { model, stream: true, messages: [{ role: "user", content: "Tell me about the sea" }] };
  return {
    ...status,
    chain,
    keys: { apiKey, managementKey, walletKey },
    commands: {
      chat: curl(`${urls.openai}/chat/completions`, apiKey, chat, "-N"),
      query: curl(urls.graphql, managementKey, { query: BANNER_QUERY }),
      subscribe: curl(
        urls.sse,
        managementKey,
        { query: BANNER_SUBSCRIPTION },
        "-N -H 'Accept: text/event-stream'",
      ),
    },
  };
}

/** The banner: first a warning on a development network, then addresses, keys, and commands to paste. */
export function toBanner({ network, development, urls, chain, keys, commands }: Status): string {
  const lines = development
    ? [
        "zerograph on a DEVELOPMENT NETWORK of this machine. Its money is play money and its wallet keys are public.",
      ]
    : [`zerograph on ${network}`];
  lines.push(
    "",
    `  Dashboard        ${urls.dashboard}`,
    `  OpenAI clients   ${urls.openai}`,
    `  GraphQL          ${urls.graphql}`,
    `  Subscriptions    ${urls.websocket} (graphql-transport-ws), ${urls.sse} (SSE)`,
    `  Storage SDKs     ${urls.indexer} (indexer)${chain ? `, ${chain.rpcUrl} (chain ${chain.id})` : ""}`,
  );
  if (keys) lines.push("", `  sk- key, funded  ${keys.apiKey}`, `  mk- key          ${keys.managementKey}`);
  if (commands)
    lines.push(
      "",
      "A streamed chat:",
      commands.chat,
      "",
      "A query that joins account, requests, costs and providers:",
      commands.query,
      "",
      "A subscription, until you stop it (run the chat meanwhile):",
      commands.subscribe,
    );
  return `\n${lines.join("\n")}\n`;
}

/** Writes the status for `npm run status` into the data folder, readable by this user only. */
export function writeStatus(folder: string, status: Status): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileIn(folder), JSON.stringify(status, null, 2), { mode: 0o600 });
  chmodSync(fileIn(folder), 0o600);
}

/** The status written by the process that uses this data folder; undefined if there is none. */
export function readStatus(folder: string): Status | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(folder), "utf8")) as Status;
  } catch {
    return undefined;
  }
}

/** Deletes the status when the process ends. */
export function removeStatus(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}

function fileIn(folder: string): string {
  return join(folder, "status.json");
}

function curl(url: string, key: string, body: object, options = ""): string {
  const parts = [
    "curl",
    options,
    url,
    `-H 'Authorization: Bearer ${key}'`,
    "-H 'Content-Type: application/json'",
  ];
  return `${parts.filter((part) => part !== "").join(" ")} -d '${JSON.stringify(body)}'`;
}
