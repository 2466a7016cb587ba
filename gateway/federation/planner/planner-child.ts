import { readSync, writeSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { Worker } from "node:worker_threads";
import { QueryPlanner } from "@graphql-hive/router-query-planner";
import type { QueryPlan } from "../engine/planner.ts";
import { createLineSplitter } from "./lines.ts";

/** Lines of JSON to the child process: first the supergraph, then operations. */
export type PlannerRequest =
  | { readonly kind: "load"; readonly supergraphSdl: string; readonly maxPlanBytes: number }
  | {
      readonly kind: "plan";
      readonly operationText: string;
      readonly operationName: string | null;
      readonly labels: readonly string[];
      readonly percentage: number;
    };

/** Lines of JSON from the child process, in order. `rssBytes` is its resident memory, in some of them. */
export type PlannerReply =
  | { readonly kind: "ready" }
  | { readonly kind: "planned"; readonly plan: QueryPlan; readonly rssBytes?: number }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "too_large"; readonly sizeBytes: number };

const [INPUT, OUTPUT] = [0, 1];
const PARENT_EVERY_MS = 1_000;
/** Reading the memory takes 20 µs. It is read again after this many characters of operations and plans. */
const MEASURED_EVERY = 65_536;
let unmeasured = MEASURED_EVERY;
let planner: QueryPlanner | undefined;
let maxPlanBytes = 0;

// A signal to the whole process group is for the parent: it drains first, and then ends this process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
endWithParent();
// Without streams and promises: the event loop and the thread of `planAsync` took as much of the processor as a plan.
const decoder = new StringDecoder("utf8");
const buffer = Buffer.allocUnsafe(65_536);
const splitLines = createLineSplitter();
for (;;) {
  const size = readSync(INPUT, buffer);
  if (size === 0) end();
  for (const line of splitLines(decoder.write(buffer.subarray(0, size))))
    reply(answer(JSON.parse(line) as PlannerRequest));
}

/** Another thread ends this process when its parent has ended: a plan may hang. */
function endWithParent(): void {
  const watch = `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, "SIGKILL");
  }, ${PARENT_EVERY_MS});`;
  new Worker(watch, {
    eval: true,
    // Passing its output on would make the standard output of this process non-blocking: a long reply then fails.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  });
}

function end(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
}

/** Returns a reply as JSON. */
function answer(request: PlannerRequest): string {
  if (request.kind === "plan") return plan(request);
  planner = new QueryPlanner(request.supergraphSdl);
  maxPlanBytes = request.maxPlanBytes;
  return JSON.stringify({ kind: "ready" } satisfies PlannerReply);
}

function plan(request: Extract<PlannerRequest, { kind: "plan" }>): string {
  const { operationText, operationName, labels, percentage } = request;
  try {
    const made = planner?.plan(operationText, operationName, new Set(labels), percentage);
    const text = JSON.stringify(made ?? {});
    if (text.length > maxPlanBytes) return failure({ kind: "too_large", sizeBytes: text.length });
    const memory = isMeasured(operationText.length + text.length)
      ? `,"rssBytes":${process.memoryUsage.rss()}`
      : "";
    return `{"kind":"planned","plan":${text}${memory}}`;
  } catch (error) {
    return failure({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
}

function isMeasured(characters: number): boolean {
  unmeasured += characters;
  if (unmeasured < MEASURED_EVERY) return false;
  unmeasured = 0;
  return true;
}

function failure(reply: Extract<PlannerReply, { kind: "failed" | "too_large" }>): string {
  return JSON.stringify(reply);
}

/** Before the next plan begins: the parent blames a crash on the first operation without a reply. */
function reply(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(OUTPUT, bytes, sent);
}
