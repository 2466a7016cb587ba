import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { withEnds } from "../bench/ends.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder, type ReadyProcess, startReady } from "../support/servers/process.ts";
import { packFolder, writeCompressed } from "./archive.ts";
import { query, type Target } from "./calls.ts";
import { closeDatabase } from "./close-database.ts";
import { replayAll } from "./events.ts";
import { fillAccount, fillSmallAccount } from "./fill-accounts.ts";
import { fillChain } from "./fill-chain.ts";
import { fillJobs, fillRequests, fillSmallRequest, openHangingStream } from "./fill-inference.ts";
import { fillStorage } from "./fill-storage.ts";
import { FILES, FIXTURES } from "./fixture.ts";
import { askAll, type Filled, readPageCursors, unendedOf } from "./questions.ts";
import { startScriptedProviders } from "./scripted-network.ts";

const SETTINGS = {
  STORE_JOB_IMAGES: "on",
  // Further jobs wait behind one that does not end.
  JOBS_PARALLEL: "1",
  // What is open when the release stops is over minutes later, and not after half an hour.
  PROVIDER_TOTAL_MS: "60000",
  JOB_TOTAL_MS: "120000",
};
/** Two jobs and a stream. */
const UNENDED = 3;

/**
 * `npm run fixture:upgrade -- <checkout> <name>`: starts the release in a checkout with its own packages on a
 * new data folder, fills it over its public APIs, and stores the folder, its database as SQL, and its answers.
 */
const [checkout, name] = process.argv.slice(2);
if (!checkout || !name) throw new Error("Give the checkout of a release, and the name of its fixture.");
await withEnds((onEnd) => makeFixture(resolve(checkout), name, onEnd));

async function makeFixture(checkout: string, name: string, onEnd: OnEnd): Promise<void> {
  const data = newFolder(onEnd);
  const start = () => startRelease(checkout, data, onEnd);
  const killed = await start();
  const filled = await fill(killed, onEnd);
  await openHangingStream(targetOf(killed), filled.account);
  await killed.end("SIGKILL");
  const release = await start();
  const jobs = await fillJobs(targetOf(release), filled.account);
  const { reader } = filled.account.managementKeys;
  const unended = await unendedOf(targetOf(release), reader);
  if (unended.length !== UNENDED) throw new Error(`${unended.length} requests have not ended`);
  const pageCursors = await readPageCursors(targetOf(release), reader);
  const all = { ...filled, jobs, unended, pageCursors };
  await replayAll(targetOf(release), all);
  const answers = await askAll(targetOf(release), all);
  await release.end("SIGTERM");
  const stoppedAt = new Date().toISOString();
  const folder = join(FIXTURES, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { sql, ...database } = await closeDatabase(checkout, join(data, "postgres"));
  writeFileSync(
    join(folder, FILES.expected),
    JSON.stringify({ stoppedAt, ...database, filled: all, answers }),
  );
  execFileSync("node_modules/.bin/biome", ["format", "--write", join(folder, FILES.expected)]);
  await writeCompressed(join(folder, FILES.sql), sql);
  await writeCompressed(join(folder, FILES.data), await packFolder(data));
  console.log("What is open is over in 3 minutes: test it then.");
  for (const file of Object.values(FILES)) console.log(`${file}: ${statSync(join(folder, file)).size} bytes`);
}

/** Fills everything but the jobs. */
async function fill(
  release: ReadyProcess,
  onEnd: OnEnd,
): Promise<Omit<Filled, "jobs" | "unended" | "pageCursors">> {
  const target = targetOf(release);
  await startScriptedProviders(target, onEnd);
  const { eventCursor } = await query(target, undefined, "{ eventCursor }");
  const account = await fillAccount(target);
  const small = await fillSmallAccount(target);
  await fillRequests(target, account);
  await fillSmallRequest(target, small);
  const storage = await fillStorage(target);
  const chain = await fillChain(target);
  return { account, small, storage, chain, eventCursor };
}

function startRelease(checkout: string, data: string, onEnd: OnEnd): Promise<ReadyProcess> {
  const settings = { ...SETTINGS, DATA_DIR: data };
  return startReady({ checkout, script: "gateway/main.ts", settings, onEnd });
}

/** The addresses that the release prints when it is ready. */
function targetOf({ origin, stdout }: ReadyProcess): Target {
  const [, rpcUrl = ""] = /(http:\S+) \(chain \d+\)/.exec(stdout()) ?? [];
  return { origin, rpcUrl };
}
