import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { startAnvil } from "../../src/devnet/anvil.ts";
import { installPeers } from "../peers/install.ts";
import type { OnEnd } from "../support/database.ts";
import { type Child, startChild } from "./child.ts";
import { press, quantile } from "./load.ts";
import { askChild } from "./peers/graph/dialogue.ts";
import type { EngineQuestion, Pressed } from "./peers/graph/engine.ts";
import { ENGINES } from "./peers/graph/engines.ts";
import { GATEWAYS } from "./peers/graph/gateways.ts";
import { MARKET_OPERATIONS, marketSubgraphs } from "./peers/graph/market.ts";
import { openProduct, PRODUCT_OPERATIONS } from "./peers/graph/product.ts";

/** How long each measurement of a peer takes, and how often they take turns. */
export type GraphPace = { readonly rounds: number; readonly durationMs: number };

/** A peer, by its name, and how to measure it at one operation. */
export type Competitor = {
  readonly name: string;
  /** The answer as JSON, or why it cannot carry the operation. */
  answer(operation: string): Promise<string>;
  press(operation: string, durationMs: number): Promise<Pressed>;
};

/** Measures the graph against the gateways of others, where npm can bring them, and tells each table as it is done. */
export async function benchGraph(
  pace: GraphPace,
  onEnd: OnEnd,
  tell: (table: string) => void,
): Promise<void> {
  if (!(await installPeers())) return;
  await build();
  for (const bench of [benchEngines, benchGateways, benchStreams]) {
    const ends: (() => Promise<void>)[] = [];
    onEnd(async () => endAll(ends));
    tell(await bench(pace, (end) => void ends.unshift(end)));
    // The processes of one bench would take time from the next.
    await endAll(ends);
  }
}

/** Ours run as they are shipped, as do those of others: the loader that runs TypeScript takes a part of every call. */
async function build(): Promise<void> {
  await promisify(execFile)(process.execPath, [...TSC, "-p", "tests/bench/tsconfig.json"]);
  await cp("schema", join(BUILT, "schema"), { recursive: true });
}

function startPeer(name: string, env: Readonly<Record<string, string>>): Promise<Child> {
  return startChild(join(BUILT, `tests/bench/peers/graph/${name}.js`), {
    ready: READY,
    env: { NODE_ENV: "production", ...env },
  });
}

async function endAll(ends: (() => Promise<void>)[]): Promise<void> {
  for (const end of ends.splice(0)) await end();
}

const READY = /ready at (\S+)/;
const CONNECTIONS = 16;
const BUILT = ".cache/bench";
const TSC = ["node_modules/typescript/bin/tsc"] as const;

/** The engines alone, each in a process of its own, over subgraphs in the same process. */
async function benchEngines(pace: GraphPace, onEnd: OnEnd): Promise<string> {
  const overMarket = await openEngines("", onEnd);
  const market = await compete("in process", MARKET_OPERATIONS, overMarket, pace);
  const places = await openProduct(onEnd);
  const overProduct = await openEngines(JSON.stringify(places), onEnd);
  const product = await compete("in process, answers recorded", PRODUCT_OPERATIONS, overProduct, pace);
  return `${market}\n${product}`;
}

async function openEngines(places: string, onEnd: OnEnd): Promise<readonly Competitor[]> {
  return Promise.all(
    Object.keys(ENGINES).map(async (name) => {
      const child = await startPeer("engine", { ENGINE: name, PLACES: places });
      onEnd(() => child.stop());
      const ask = <T>(question: EngineQuestion) => askChild<T>(child, question);
      return {
        name,
        answer: (operation: string) => ask<string>({ operation }),
        press: (operation: string, pressMs: number) => ask<Pressed>({ operation, pressMs }),
      };
    }),
  );
}

/** The whole way: a client over HTTP, the gateway in a process of its own, and subgraphs over HTTP. */
async function benchGateways(pace: GraphPace, onEnd: OnEnd): Promise<string> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  const subgraphs = await startPeer("subgraphs", {});
  onEnd(async () => killChild(subgraphs));
  const urls = marketSubgraphs().map(({ name }) => [name, `${subgraphs.origin}/${name}`]);
  const folder = await mkdtemp(join(tmpdir(), "zerograph-bench-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const env = { SUBGRAPHS: JSON.stringify(Object.fromEntries(urls)), RPC_URL: anvil.url, DATA_DIR: folder };
  const competitors: Competitor[] = [];
  for (const name of Object.keys(GATEWAYS)) {
    const child = await startPeer("gateway", { ...env, GATEWAY: name });
    onEnd(async () => killChild(child));
    competitors.push(overHttp(name, child));
  }
  return compete(`over HTTP, ${CONNECTIONS} connections`, MARKET_OPERATIONS, competitors, pace);
}

function overHttp(name: string, { origin, process: { pid = 0 } }: Child): Competitor {
  const target = { name, origin, path: "/graphql", bearers: [], headers: {} };
  const bodyOf = (query: string) => Buffer.from(JSON.stringify({ query }));
  return {
    name,
    async answer(operation) {
      const headers = { "content-type": "application/json" };
      const reply = await fetch(`${origin}/graphql`, { method: "POST", headers, body: bodyOf(operation) });
      return reply.text();
    },
    async press(operation, durationMs) {
      const before = cpuOf(pid);
      const pressed = await press(target, { body: bodyOf(operation), connections: CONNECTIONS, durationMs });
      return { ...pressed, cpuMs: (cpuOf(pid) - before) / pressed.requests };
    },
  };
}

/** What a process has had of the processors so far, in milliseconds: Linux counts in hundredths of a second. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Some peers wait for idle connections when they are asked to end. */
function killChild({ process: child }: Child): void {
  child.kill("SIGKILL");
}

/**
 * Measures all competitors at every operation, in turns, and says who cannot carry it: what answers something else than
 * the first is not measured. Ratios are taken within a round, and their medians shown.
 */
export async function compete(
  title: string,
  operations: Readonly<Record<string, string>>,
  competitors: readonly Competitor[],
  { rounds, durationMs }: GraphPace,
): Promise<string> {
  const tables: string[] = [];
  for (const [name, operation] of Object.entries(operations)) {
    const { able, notes } = await judge(operation, competitors);
    for (const { press } of able) await press(operation, durationMs);
    const results = new Map(able.map((competitor) => [competitor, [] as Pressed[]]));
    for (let round = 0; round < rounds; round++)
      for (let turn = 0; turn < able.length; turn++) {
        const competitor = able[(turn + round) % able.length];
        if (competitor) results.get(competitor)?.push(await competitor.press(operation, durationMs));
      }
    tables.push(
      `\n**${name}, ${title}**\n\n${toRows(results)}${notes.map((note) => `\n- ${note}`).join("")}`,
    );
  }
  return tables.join("\n");
}

async function judge(operation: string, competitors: readonly Competitor[]) {
  const able: Competitor[] = [];
  const notes: string[] = [];
  let right: unknown;
  for (const competitor of competitors) {
    const answer = await competitor.answer(operation).catch((error: unknown) => String(error));
    const { data } = readAnswer(answer);
    right ??= data;
    if (data !== undefined && isDeepStrictEqual(data, right)) able.push(competitor);
    else
      notes.push(
        `${competitor.name} does not answer the same: ${answer.split("\n").slice(0, 3).join(" ").trim().slice(0, 200)}`,
      );
  }
  return { able, notes };
}

/** Parsed twice, so that objects without a prototype count as the others. Errors with data are no answer. */
function readAnswer(text: string): { readonly data?: unknown } {
  try {
    const { data, errors } = JSON.parse(text);
    return errors === undefined && data ? { data } : {};
  } catch {
    return {};
  }
}

function toRows(results: ReadonlyMap<Competitor, readonly Pressed[]>): string {
  const [ours = []] = results.values();
  const lines = [...results].map(([{ name }, rounds]) => {
    const figure = (of: (pressed: Pressed) => number, digits: number) =>
      median(rounds.map(of)).toFixed(digits);
    const ratio = (of: (mine: Pressed, theirs: Pressed) => number) =>
      median(rounds.flatMap((theirs, round) => (ours[round] ? of(ours[round], theirs) : []))).toFixed(2);
    return [
      name,
      figure(({ perSecond }) => perSecond, 0),
      ratio((mine, theirs) => mine.perSecond / theirs.perSecond),
      figure(({ p50Ms }) => p50Ms, 2),
      figure(({ p99Ms }) => p99Ms, 2),
      ratio((mine, theirs) => theirs.p99Ms / mine.p99Ms),
      figure(({ cpuMs }) => cpuMs, 3),
      ratio((mine, theirs) => theirs.cpuMs / mine.cpuMs),
    ];
  });
  const better = "zerograph is better by x";
  const header = ["", "operations/s", better, "p50 ms", "p99 ms", better, "CPU ms an operation", better];
  const rule = ["---", ...header.slice(1).map(() => "---:")];
  return [header, rule, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );
}
