import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { call, query, type Target } from "../../upgrade/calls.ts";
import { replayAll } from "../../upgrade/events.ts";
import { fillAccount, fillSmallAccount } from "../../upgrade/fill-accounts.ts";
import { fillChain } from "../../upgrade/fill-chain.ts";
import { fillJobs, fillRequests, fillSmallRequest, openHangingStream } from "../../upgrade/fill-inference.ts";
import { fillStorage } from "../../upgrade/fill-storage.ts";
import { askAll, type Filled, readPageCursors, unendedOf } from "../../upgrade/questions.ts";
import { startScriptedProviders } from "../../upgrade/scripted-network.ts";
import { ask } from "../clients/graph-client.ts";
import type { OnEnd } from "../servers/database.ts";
import { newFolder, type ReadyProcess, runProcess, startReady } from "../servers/process.ts";
import { until } from "../until.ts";

const PRELOAD = pathToFileURL(resolve("tests/support/statements/record.ts")).href;
const EXAMPLES = "schema/examples";
/** For periodic work, and for work whose lease a killed process had. */
const PATIENCE_MS = 60_000;
const COMMANDS = [["verify-ledger"], ["verify-ledger", "--full"], ["rebuild-usage"]] as const;

/** Reads that the fixtures of upgrades do not have. */
const READS = [
  "/v1/account",
  "/v1/account/funds",
  "/v1/account/usage/daily",
  "/v1/account/usage/stats?model_id=devnet-chat&source=wallet",
  "/v1/account/usage/history?limit=2&offset=1&include_total=true",
  "/v1/account/usage/history?model_id=none",
  "/v1/management-keys",
];

type Recording = {
  readonly onEnd: OnEnd;
  /** Is given each statement once. Returns whether the load has every statement that it must have. */
  readonly isEnough: (fresh: readonly string[]) => boolean;
};

/**
 * Starts the product on a PostgreSQL server, uses it through its public APIs as the fixtures of upgrades do, and runs
 * the operators' commands, until its periodic work was done as well. Returns every statement that all of these
 * processes sent, each text once.
 */
export async function recordLoad(
  databaseUrl: string,
  { onEnd, isEnough }: Recording,
): Promise<readonly string[]> {
  const folder = newFolder(onEnd);
  const file = join(folder, "statements");
  const settings = {
    ...{ DATA_DIR: folder, DATABASE_URL: databaseUrl, STORE_JOB_IMAGES: "on", JOBS_PARALLEL: "1" },
    ...{ NODE_OPTIONS: `--import ${PRELOAD}`, STATEMENTS_FILE: file },
  };
  const killed = await startReady({ settings, onEnd });
  await startScriptedProviders(targetOf(killed), onEnd);
  const data = await fill(targetOf(killed));
  await openHangingStream(targetOf(killed), data.account);
  // What it held is released by the next process.
  await killed.end("SIGKILL");
  const stopped = await startReady({ settings, onEnd });
  const target = targetOf(stopped);
  const jobs = await fillJobs(target, data.account);
  const { reader } = data.account.managementKeys;
  const unended = await unendedOf(target, reader);
  const filled = { ...data, jobs, unended, pageCursors: await readPageCursors(target, reader) };
  await replayAll(target, filled);
  await askAll(target, filled);
  await readMore(target, filled.account);
  await useTags(target, filled.account);
  for (const [command, ...args] of COMMANDS) {
    const script = `dist/gateway/cli/${command}.js`;
    const { code, stderr } = await runProcess({ script, args, settings, onEnd });
    if (code !== 0) throw new Error(`${command}: ${stderr}`);
  }
  await fillSmallRequest(target, data.small);
  // It hands over the jobs that it works on, and returns the money that it holds.
  await stopped.end("SIGTERM");
  const product = await startReady({ settings, onEnd });
  await fillSmallRequest(targetOf(product), data.small);
  const recorded = new Set<string>();
  const newLines = readLinesOf(file);
  const newStatements = () => {
    const read = new Set(newLines().map((line) => JSON.parse(line) as string));
    const fresh = [...read].filter((statement) => !recorded.has(statement));
    for (const statement of fresh) recorded.add(statement);
    return fresh;
  };
  await until(() => isEnough(newStatements()), PATIENCE_MS).catch(() => {});
  await product.end("SIGTERM");
  newStatements();
  return [...recorded];
}

/** Returns the lines of a growing file that were completed since the last call. */
function readLinesOf(path: string): () => readonly string[] {
  let offset = 0;
  return () => {
    const descriptor = openSync(path, "r");
    try {
      const added = Buffer.alloc(fstatSync(descriptor).size - offset);
      readSync(descriptor, added, 0, added.length, offset);
      const end = added.lastIndexOf("\n") + 1;
      offset += end;
      return end === 0 ? [] : added.toString("utf8", 0, end - 1).split("\n");
    } finally {
      closeSync(descriptor);
    }
  };
}

/** The addresses that a product with a development network prints. */
function targetOf({ origin, stdout }: ReadyProcess): Target {
  const [, rpcUrl = ""] = /(http:\S+) \(chain \d+\)/.exec(stdout()) ?? [];
  return { origin, rpcUrl };
}

async function fill(target: Target): Promise<Omit<Filled, "jobs" | "unended" | "pageCursors">> {
  const { eventCursor } = await query(target, undefined, "{ eventCursor }");
  const account = await fillAccount(target);
  const small = await fillSmallAccount(target);
  await fillRequests(target, account);
  await fillSmallRequest(target, small);
  const storage = await fillStorage(target);
  const chain = await fillChain(target);
  return { account, small, storage, chain, eventCursor };
}

/** Sends requests with tags, with a budget and without one. */
async function useTags(target: Target, { session, apiKeys }: Filled["account"]): Promise<void> {
  const budget = { name: "team", value: "search", credit_limit: "1" };
  const chat = (tag: string) =>
    call(target, "/v1/chat/completions", apiKeys.plain, {
      headers: { "x-tag": tag },
      body: { model: "devnet-chat", messages: [{ role: "user", content: "Hi" }], max_tokens: 5 },
    });
  await chat("team=search");
  const { budget_id: id } = await call<{ budget_id: string }>(target, "/v1/tag-budgets", session, {
    body: budget,
  });
  await chat("team=search");
  await chat("team=ads");
  const path = `/v1/tag-budgets/${id}`;
  await call(target, path, session, { method: "PATCH", body: { reset_period: "daily" } });
  await call(target, "/v1/tag-budgets", session);
  await call(target, "/v1/account/usage/tags?name=team", session);
  await call(target, "/v1/account/usage/history?tag=team%3Dsearch", session);
  await call(target, path, session, { method: "DELETE" });
}

/** Reads as the account's wallet, and asks for a receipt, which may not be made yet. */
async function readMore(target: Target, { session }: Filled["account"]): Promise<void> {
  for (const path of READS) await call(target, path, session);
  for (const text of exampleQueries()) await ask(target.origin, session, text);
  const newest = await query(
    target,
    session,
    "{ viewer { account { requests(first: 1) { nodes { id } } } } }",
  );
  const [request] = newest.viewer.account.requests.nodes;
  await call(target, `/v1/receipts/${request.id}`, session, { statuses: [200, 404, 409] });
}

/** The published examples that need no variables. */
function exampleQueries(): readonly string[] {
  return readdirSync(EXAMPLES)
    .map((name) => readFileSync(join(EXAMPLES, name), "utf8"))
    .filter((text) => /^query\b/m.test(text) && !/\$\w+: [^)=]*!/.test(text));
}
