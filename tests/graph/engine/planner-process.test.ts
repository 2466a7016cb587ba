// @module-tag large
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { GraphQLError } from "graphql";
import { expect, onTestFinished, test } from "vitest";
import {
  ProcessPlanner,
  type ProcessPlannerOptions,
} from "../../../gateway/federation/planner/process-planner.ts";
import { composeSupergraph } from "../../../scripts/compose.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { FEDERATION_LINK } from "../../../subgraphs/shared/schema/build-subgraph.ts";
import { createNativePlanner } from "../../support/native-planner.ts";
import { isAlive } from "../../support/servers/process.ts";
import { until } from "../../support/until.ts";
import { market } from "./topics/market/subgraphs.ts";

const SUPERGRAPH = composeSupergraph(
  Object.entries(market).map(([name, { sdl }]) => ({ name, sdl: FEDERATION_LINK + sdl })),
);
const NO_OVERRIDES = { labels: new Set<string>(), percentage: 0 };
const QUERY = "query Q{me{name reviews{stars product{label price}}}}";

test("the process returns the plans of an in-process planner, for operations and progressive overrides", async () => {
  const { planner } = started();
  const native = createNativePlanner(SUPERGRAPH);
  // Line separators are no ends of lines between the processes, and a long text arrives in pieces.
  const separated = `${QUERY}#${"\u2028\u2029\u0085é".repeat(30_000)}`;
  for (const text of [QUERY, "{shops{owner{name}products{stock}}}", "{__typename}", separated, QUERY]) {
    const plan = await planner.plan(text, null, NO_OVERRIDES);
    expect(plan).toEqual(JSON.parse(JSON.stringify(await native.plan(text, null, NO_OVERRIDES))));
  }
});

test("plans longer than a pipe wait until this process, which is busy, reads them", async () => {
  const { planner, restarts } = started();
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  const long = (number: number) =>
    `{me{${Array.from({ length: 14 }, (_, n) => `a${number}_${n}${"x".repeat(3_800)}:name`).join(" ")}}}`;
  const plans = Array.from({ length: 16 }, (_, number) => planner.plan(long(number), null, NO_OVERRIDES));
  // Long enough for the planner to fill the pipe, on a fast machine.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  for (const [number, plan] of (await Promise.all(plans)).entries())
    expect(JSON.stringify(plan)).toContain(`a${number}_13x`);
  expect(restarts()).toBe(0);
});

test("under load, repeatedly killing the planner process causes at most clean refusals", async () => {
  const { planner, restarts } = started();
  let killed = 0;
  const answers = Array.from({ length: 240 }, (_, number) =>
    planner.plan(numbered(number), null, NO_OVERRIDES).then(
      (plan) => ({ number, text: JSON.stringify(plan) }),
      (error: unknown) => error,
    ),
  );
  const all = Promise.all(answers);
  let isDone = false;
  void all.then(() => {
    isDone = true;
  });
  let last: number | undefined;
  while (killed < 3 && !isDone) {
    if (planner.pid !== undefined && planner.pid !== last) {
      last = planner.pid;
      process.kill(last, "SIGKILL");
      killed += 1;
    }
    await nextTurn();
  }
  expect(killed).toBe(3);
  for (const answer of await all) {
    if (answer instanceof Error) expect(codeOf(answer)).toMatch(/^(unavailable|graphql_refused)$/);
    else
      expect(answer).toMatchObject({
        text: expect.stringContaining(`a${(answer as { number: number }).number}:`),
      });
  }
  expect(await planner.plan(QUERY, null, NO_OVERRIDES)).toMatchObject({ node: { kind: "Sequence" } });
  expect(restarts()).toBe(3);
});

test("a query that crashes the process is refused and remembered, and the queries after it are planned", async () => {
  const { planner, restarts, refusals, logged } = started();
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  const dead = planner.pid ?? 0;
  // The stopped process already has the first query when it crashes.
  process.kill(dead, "SIGSTOP");
  const crashing = settled(planner.plan(QUERY, "Q", NO_OVERRIDES));
  const behind = Array.from({ length: 20 }, (_, number) =>
    planner.plan(numbered(number), null, NO_OVERRIDES),
  );
  process.kill(dead, "SIGABRT");
  process.kill(dead, "SIGCONT");
  expect(codeOf(await crashing)).toBe("graphql_refused");
  expect(await Promise.all(behind)).toHaveLength(20);
  expect(await isAlive(dead)).toBe(false);
  const { pid } = planner;
  expect(codeOf(await settled(planner.plan(QUERY, "Q", NO_OVERRIDES)))).toBe("graphql_refused");
  expect(planner.pid).toBe(pid);
  expect(restarts()).toBe(1);
  expect(refusals()).toEqual(["crashed", "remembered"]);
  expect(logged().match(/the query planner exited/g)).toHaveLength(1);
});

test("a hung process is ended at the deadline: the query is refused, and the next one planned", async () => {
  const { planner, refusals } = started({ planMs: 300 });
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  const hanging = planner.pid ?? 0;
  process.kill(hanging, "SIGSTOP");
  const error = await settled(planner.plan(QUERY, null, NO_OVERRIDES));
  expect(error).toMatchObject({ message: expect.stringContaining("takes too long") });
  expect(codeOf(error)).toBe("graphql_refused");
  await until(async () => !(await isAlive(hanging)));
  expect(codeOf(await settled(planner.plan(QUERY, null, NO_OVERRIDES)))).toBe("graphql_refused");
  expect(refusals()).toEqual(["deadline", "remembered"]);
  await until(() => planner.plan("{users{id}}", null, NO_OVERRIDES).then(() => true));
});

test("a plan above the size limit is refused, and remembered", async () => {
  const { planner, refusals } = started({ planBytes: 600 });
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  for (let time = 0; time < 2; time++)
    expect(codeOf(await settled(planner.plan(QUERY, null, NO_OVERRIDES)))).toBe("graphql_refused");
  expect(refusals()).toEqual(["too_large", "remembered"]);
});

test("an operation that the planner gives up on is refused by name, and its process stays alive", async () => {
  const { planner, refusals } = started();
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  const { pid } = planner;
  expect(codeOf(await settled(planner.plan("{nope}", null, NO_OVERRIDES)))).toBe("graphql_refused");
  expect(refusals()).toEqual(["failed"]);
  expect(planner.pid).toBe(pid);
});

test.each([
  ["by count", { queued: 4 }],
  ["by characters", { queuedCharacters: 4 * numbered(10).length }],
])("the queue of queries to plan is bounded %s", async (_, limits) => {
  const { planner, refusals } = started(limits);
  const all = await Promise.all(
    Array.from({ length: 40 }, (_, number) =>
      settled(planner.plan(numbered(10 + number), null, NO_OVERRIDES)),
    ),
  );
  expect(all.filter((answer) => answer instanceof GraphQLError).map(codeOf)).toEqual(
    Array(36).fill("unavailable"),
  );
  expect(refusals()).toEqual(Array(36).fill("busy"));
});

test("an operation waits at most the allowed time in the queue", async () => {
  const { planner } = started({ waitMs: 100 });
  await until(() => planner.plan("{me{id}}", null, NO_OVERRIDES).then(() => true));
  const pid = planner.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  const first = settled(planner.plan(QUERY, null, NO_OVERRIDES));
  expect(codeOf(await settled(planner.plan("{users{id}}", null, NO_OVERRIDES)))).toBe("unavailable");
  process.kill(pid, "SIGCONT");
  expect(await first).toHaveProperty("node");
});

test("a process whose memory has grown is replaced between two plans", async () => {
  const { planner, logged } = started({ rssBytes: 1 });
  for (const text of ["{me{id}}", "{users{id}}"]) {
    const { pid } = planner;
    expect(await planner.plan(text, null, NO_OVERRIDES)).toHaveProperty("node");
    if (pid !== undefined) expect(planner.pid).not.toBe(pid);
  }
  expect(logged()).toContain('"ending":"memory"');
});

test("closing ends the process, also one that hangs, and waiting queries are refused", async () => {
  const { planner } = started();
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  const pid = planner.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  const waiting = [QUERY, "{users{id}}"].map((text) => settled(planner.plan(text, null, NO_OVERRIDES)));
  await planner.close();
  expect((await Promise.all(waiting)).map(codeOf)).toEqual(["unavailable", "unavailable"]);
  expect(codeOf(await settled(planner.plan("{me{id}}", null, NO_OVERRIDES)))).toBe("unavailable");
  expect(await isAlive(pid)).toBe(false);
});

test("a supergraph that the planner cannot read makes every query unavailable, and is retried with growing pauses", async () => {
  const { planner, logged, restarts } = started({ waitMs: 300 }, "no schema");
  expect(codeOf(await settled(planner.plan("{x}", null, NO_OVERRIDES)))).toBe("unavailable");
  await until(() => restarts() >= 2);
  expect(logged()).toContain("the query planner exited");
});

test("the process ends with its parent, also when that is killed, and inherits none of its secrets", async () => {
  const file = new URL("../../../gateway/federation/planner/process-planner.ts", import.meta.url).href;
  const script = `
    import { ProcessPlanner } from ${JSON.stringify(file)};
    const planner = new ProcessPlanner({ supergraphSdl: process.env.SUPERGRAPH, log: { error: console.error } });
    await planner.plan("{me{id}}", null, { labels: new Set(), percentage: 0 });
    console.log(planner.pid);
    setInterval(() => {}, 1_000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { SUPERGRAPH, SECRET: "not for children" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [said] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(String(said));
  expect(await isAlive(pid)).toBe(true);
  expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("SECRET");
  // A signal that a terminal or systemd sends to the whole service does not end it before its parent has
  // drained.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.kill(pid, signal);
  await nextTurn();
  expect(await isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await until(async () => !(await isAlive(pid)));
});

test("the process ends with its parent also while it plans, when it reads nothing", async () => {
  const child = fileURLToPath(
    new URL("../../../gateway/federation/planner/planner-child.ts", import.meta.url),
  );
  // Its input stays open, as if it had not come to read its end.
  const load = JSON.stringify({ kind: "load", supergraphSdl: SUPERGRAPH, maxPlanBytes: 1_000 });
  const input = spawn("sh", ["-c", `echo "$LOAD"; exec sleep 600`], {
    env: { LOAD: load.replaceAll("\\", "\\\\") },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void input.kill("SIGKILL"));
  const command = `exec 3<&0; "$0" "$1" <&3 & echo $!; wait`;
  const parent = spawn("sh", ["-c", command, process.execPath, child], {
    env: {},
    stdio: [input.stdout, "pipe", "inherit"],
  });
  let said = "";
  parent.stdout.on("data", (part: Buffer) => {
    said += part;
  });
  await until(() => said.includes('"ready"'));
  const pid = Number.parseInt(said, 10);
  onTestFinished(async () => {
    if (await isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  parent.kill("SIGKILL");
  await until(async () => !(await isAlive(pid)));
});

test("of operations that a dying process was sent, only the one in progress is refused", async () => {
  const { planner, refusals } = started();
  await planner.plan("{me{id}}", null, NO_OVERRIDES);
  const { pid = 0 } = planner;
  process.kill(pid, "SIGSTOP");
  const all = Array.from({ length: 40 }, (_, number) =>
    settled(planner.plan(numbered(number), null, NO_OVERRIDES)),
  );
  process.kill(pid, "SIGABRT");
  process.kill(pid, "SIGCONT");
  const [first, ...others] = await Promise.all(all);
  expect(codeOf(first)).toBe("graphql_refused");
  for (const [at, plan] of others.entries()) expect(JSON.stringify(plan)).toContain(`a${at + 1}:`);
  expect(refusals()).toEqual(["crashed"]);
});

function started(limits: ProcessPlannerOptions["limits"] = {}, supergraphSdl = SUPERGRAPH) {
  const lines: string[] = [];
  const refused: string[] = [];
  let restarts = 0;
  const planner = new ProcessPlanner({
    supergraphSdl,
    limits,
    log: createLogger("debug", { write: (line: string) => void lines.push(line) }),
    observer: {
      plannerRestarted: () => {
        restarts += 1;
      },
      planRefused: (reason) => void refused.push(reason),
    },
  });
  onTestFinished(() => planner.close());
  return { planner, restarts: () => restarts, refusals: () => refused, logged: () => lines.join("") };
}

function numbered(number: number): string {
  return `{a${number}: users{name shop{title products{label}}}}`;
}

function settled<T>(promise: Promise<T>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}

function codeOf(error: unknown): unknown {
  return error instanceof GraphQLError ? error.extensions.code : error;
}
