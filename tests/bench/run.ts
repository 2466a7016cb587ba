import { loadavg } from "node:os";
import type { OnEnd } from "../support/servers/database.ts";
import { checkBilling } from "./billing.ts";
import { buildBench } from "./build.ts";
import { withEnds } from "./ends.ts";
import { runLoad, type Target } from "./load.ts";
import { describeMachine, spreadOf, toTable, writeResults } from "./report.ts";
import { type Rounds, runRounds, type Scenario } from "./scenario.ts";
import { benchChain } from "./suites/chain.bench.ts";
import { benchDashboard } from "./suites/dashboard.bench.ts";
import { benchGraph } from "./suites/graph.bench.ts";
import { benchClients } from "./suites/graph-clients.bench.ts";
import { benchLedger } from "./suites/ledger.bench.ts";
import { benchReads } from "./suites/reads.bench.ts";
import { benchStorage } from "./suites/storage.bench.ts";
import { streamed } from "./suites/streamed.bench.ts";
import { unary } from "./suites/unary.bench.ts";
import { benchVerify } from "./suites/verify.bench.ts";
import { openMarket, openPeer, openPortkey, openProduct } from "./world.ts";

/**
 * `npm run bench`: our product against a direct call, two bare proxies and Portkey, each in its own process
 * on this machine, and the ledger alone against other ways to write it. About 7 minutes; with `--quick`
 * about 40 s and RESULTS.md is not changed. `--ledger` measures the ledger alone, `--storage` files,
 * `--chain` the reading of the chain and the delay of its events, `--graph` the graph against other gateways (with
 * `--clients` only what official clients send),
 * `--reads` what reads of a long history cost other customers, `--verify` the verification of a long ledger,
 * `--dashboard` the dashboard in Chromium (with `--with FOLDER` also that of another checkout); none of these changes
 * RESULTS.md either.
 */
const QUICK = process.argv.includes("--quick");
const PACE = QUICK ? { rounds: 2, durationMs: 100 } : { rounds: 5, durationMs: 850 };
const LEDGER_PACE = QUICK ? { rounds: 2, durationMs: 300 } : { rounds: 5, durationMs: 700 };
const CHAIN_PACE = QUICK ? { rounds: 1, fullBlocks: 20, keys: 5 } : { rounds: 3, fullBlocks: 100, keys: 20 };
const STORAGE_PACE = QUICK
  ? { rounds: 2, largeBytes: 2 ** 25, smallFiles: 500, sdkBytes: 2 ** 22 }
  : { rounds: 5, largeBytes: 2 ** 28, smallFiles: 10_000, sdkBytes: 2 ** 26 };
const GRAPH_PACE = QUICK
  ? { rounds: 2, durationMs: 200, warmUpMs: 200, newDocuments: 200 }
  : { rounds: 5, durationMs: 1_000, warmUpMs: 3_000, newDocuments: 1_000 };
const READS_PACE = QUICK
  ? { accounts: 200, requests: 200_000, rounds: 2, durationMs: 500 }
  : { accounts: 2_000, requests: 2_000_000, rounds: 3, durationMs: 4_000 };
const VERIFY_PACE = QUICK
  ? { accounts: 200, months: 2, requestsPerMonth: 25_000, added: [1_000], rounds: 3 }
  : { accounts: 2_000, months: 20, requestsPerMonth: 100_000, added: [1_000, 20_000], rounds: 5 };
/** V8 goes on compiling our product for some 20 s of load; each target gets the same time before it is measured. */
const WARM_UP = { connections: 16, durationMs: QUICK ? 400 : 20_000 };
const NOISY = 0.4;

const measuresVerification = process.argv.includes("--verify");
const measuresDashboard = process.argv.includes("--dashboard");
// They need no built process of the product.
if (!measuresVerification && !measuresDashboard) await buildBench();
await withEnds((onEnd) => {
  if (measuresDashboard) return runDashboard(onEnd);
  if (process.argv.includes("--ledger")) return runLedger(onEnd);
  if (process.argv.includes("--chain")) return runChain(onEnd);
  if (process.argv.includes("--graph")) return runGraph(onEnd);
  if (process.argv.includes("--reads")) return runReads(onEnd);
  if (measuresVerification) return runVerify(onEnd);
  if (process.argv.includes("--storage")) return runStorage(onEnd);
  return runAll(onEnd);
});

async function runChain(onEnd: OnEnd): Promise<void> {
  console.log(describeMachine(), `load before the run ${(loadavg()[0] ?? 0).toFixed(1)}`);
  console.log(await benchChain(CHAIN_PACE, onEnd));
}

async function runStorage(onEnd: OnEnd): Promise<void> {
  console.log(
    `${new Date().toISOString().slice(0, 16)}Z, ${describeMachine()}; load ${loadavg()[0]?.toFixed(1)}`,
  );
  console.log(await benchStorage(STORAGE_PACE, onEnd));
}

async function runReads(onEnd: OnEnd): Promise<void> {
  const load = (loadavg()[0] ?? 0).toFixed(1);
  console.log(`${new Date().toISOString().slice(0, 16)}Z, ${describeMachine()}; load before the run ${load}`);
  // First a hundredth of the history, to show what grows with it.
  const few = { ...READS_PACE, requests: READS_PACE.requests / 100 };
  for (const pace of [few, READS_PACE]) await benchReads(pace, onEnd, (line) => console.log(line));
}

async function runVerify(onEnd: OnEnd): Promise<void> {
  const load = (loadavg()[0] ?? 0).toFixed(1);
  console.log(`${new Date().toISOString().slice(0, 16)}Z, ${describeMachine()}; load before the run ${load}`);
  await benchVerify(VERIFY_PACE, onEnd, (line) => console.log(line));
}

async function runDashboard(onEnd: OnEnd): Promise<void> {
  const load = (loadavg()[0] ?? 0).toFixed(1);
  console.log(`${new Date().toISOString().slice(0, 16)}Z, ${describeMachine()}; load before the run ${load}`);
  const at = process.argv.indexOf("--with");
  const checkouts = at < 0 ? [] : process.argv.slice(at + 1, at + 2);
  console.log(await benchDashboard({ rounds: QUICK ? 1 : 5, checkouts }, onEnd));
}

async function runGraph(onEnd: OnEnd): Promise<void> {
  const load = (loadavg()[0] ?? 0).toFixed(1);
  console.log(`${new Date().toISOString().slice(0, 16)}Z, ${describeMachine()}; load before the run ${load}`);
  const benches = process.argv.includes("--clients") ? [benchClients] : undefined;
  await benchGraph(GRAPH_PACE, onEnd, (table) => console.log(table), benches);
}

async function runLedger(onEnd: OnEnd): Promise<void> {
  console.log(await benchLedger(LEDGER_PACE, onEnd));
}

async function runAll(onEnd: OnEnd): Promise<void> {
  const startedMs = performance.now();
  const load = loadavg()[0] ?? 0;
  const market = await openMarket(onEnd);
  // Before the others, because it may have to be installed.
  const portkey = await openPortkey(market, onEnd);
  const [server, embedded, fastify, http] = await Promise.all([
    openProduct("server", market, onEnd),
    openProduct("embedded", market, onEnd),
    openPeer("fastify-proxy", market, onEnd),
    openPeer("http-proxy", market, onEnd),
  ]);
  const { direct } = market;
  const peers = portkey ? [http, fastify, portkey] : [http, fastify];
  const everywhere = [direct, ...peers, server.one, embedded.one];
  const bases = Object.entries({ direct, fastify, ...(portkey && { portkey }) }).map(([name, target]) => ({
    name,
    target,
  }));
  const scenarios = [...unary, ...streamed];
  const targetsOf = (scenario: Scenario) =>
    unary.includes(scenario) ? [...everywhere, server.many] : everywhere;
  let warmed = 0;
  for (const target of [...everywhere, server.many])
    for (const { body } of [unary[0], streamed[0]].filter((scenario) => scenario !== undefined)) {
      const { requests } = await runLoad(target, { body, ...WARM_UP, durationMs: WARM_UP.durationMs / 2 });
      if (target.origin === server.one.origin) warmed += requests;
    }
  const measured = await runRounds(scenarios, targetsOf, { ...PACE, behave: market.behave });
  const answered = warmed + requestsOf(measured, server.one) + requestsOf(measured, server.many);
  const notes = [
    `${new Date().toISOString().slice(0, 16)}Z, ${describeMachine()}; load before the run ${load.toFixed(1)}`,
    `${PACE.rounds} rounds of ${PACE.durationMs} ms, targets in turn, each after ${WARM_UP.durationMs / 1_000} s of load; figures are medians of the rounds`,
    await checkBilling(server.postgresUrl ?? "", answered),
    `the direct call's rate differs between rounds by up to ${Math.round(spreadOf(measured, direct) * 100)} %` +
      (spreadOf(measured, direct) > NOISY ? ": the machine was NOISY, run it again" : ""),
  ];
  const table = `${toTable(measured, bases)}\n${await benchLedger(LEDGER_PACE, onEnd)}`;
  console.log(`${notes.join("\n")}\n${table}\n\n${Math.round((performance.now() - startedMs) / 1_000)} s`);
  if (!QUICK) await writeResults(table, notes);
}

function requestsOf(measured: Rounds, target: Target): number {
  const rounds = [...measured.values()].flatMap((results) => results.get(target) ?? []);
  return rounds.reduce((sum, { requests }) => sum + requests, 0);
}
