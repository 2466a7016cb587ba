import { fork } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { quantile } from "./load.ts";

/**
 * `scripts/node --import tsx tests/bench/compare.ts <other checkout> [connections] [rounds] [--stream]`: chats of this
 * checkout (with `--stream` streams of 64 tokens, 1 ms apart) against those of another, for example the commit before a
 * change. Both products run at the same time, each over a
 * PostgreSQL of its own, and are loaded in turn for three seconds each, so that other work on the machine disturbs both
 * alike: two runs one after the other differ by a tenth without a change. Prints the median of the ratios of the rounds,
 * and the range of their middle half. The product that starts first is measured some 5 % slower, so compare in both
 * directions (with these files copied to the other checkout if it lacks them) and take the mean.
 */
const [other, connections = "16", rounds = "40"] = process.argv
  .slice(2)
  .filter((word) => !word.startsWith("--"));
const kind = process.argv.includes("--stream") ? ["--stream"] : [];
if (other === undefined) throw new Error("name the other checkout");
const TURN_MS = 3_000;

type Turn = { readonly perSecond: number; readonly cpuMs: number };
type Side = { load(): Promise<Turn>; end(): void };

const here = await openSide(".");
const there = await openSide(other);
const ratios: number[] = [];
const cpus: [number, number][] = [];
const rates: [number, number][] = [];
for (let round = 0; round < Number(rounds); round++) {
  const turns = new Map<Side, Turn>();
  for (const side of round % 2 === 0 ? [here, there] : [there, here]) turns.set(side, await side.load());
  const [ours, theirs] = [turns.get(here), turns.get(there)];
  if (!ours || !theirs) continue;
  ratios.push(ours.perSecond / theirs.perSecond);
  cpus.push([ours.cpuMs, theirs.cpuMs]);
  rates.push([ours.perSecond, theirs.perSecond]);
}
for (const side of [here, there]) side.end();
const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => at(ratios, q).toFixed(3));
console.log(`throughput: ${middle} of the other checkout (${low} to ${high}), ${ratios.length} rounds`);
for (const [n, name] of ["this checkout", "the other"].entries())
  console.log(
    `${name}: ${medianOf(rates, n).toFixed(0)}/s, gateway ${medianOf(cpus, n).toFixed(4)} ms of CPU a request`,
  );

function medianOf(pairs: readonly (readonly [number, number])[], n: number): number {
  return at(
    pairs.map((pair) => pair[n] ?? 0),
    0.5,
  );
}

function at(values: readonly number[], q: number): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    q,
  );
}

async function openSide(checkout: string): Promise<Side> {
  const child = fork(resolve("tests/bench/compare-side.ts"), [connections, ...kind], {
    ...{
      cwd: resolve(checkout),
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  });
  const ended = new AbortController();
  child.once("exit", (code) => ended.abort(new Error(`the product of ${checkout} ended with ${code}`)));
  const next = async () => (await once(child, "message", { signal: ended.signal }))[0];
  await next();
  return {
    load: () => {
      child.send(TURN_MS);
      return next();
    },
    end: () => child.disconnect(),
  };
}
