import { QueryPlanner } from "@graphql-hive/router-query-planner";
import type { QueryPlan } from "../engine/planner.ts";
import { readLines } from "./lines.ts";

/** Lines of JSON to the child process: first the supergraph, then one operation at a time. */
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

let planner: QueryPlanner | undefined;
let maxPlanBytes = 0;

// A signal to the whole process group is for the parent: it drains first, and then ends this process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
// A plain exit would wait for the planning thread, which may hang.
const end = () => process.kill(process.pid, "SIGKILL");
process.stdout.on("error", end);
process.stdin.on("close", end);
readLines(process.stdin, async (line) => {
  const request = JSON.parse(line) as PlannerRequest;
  if (request.kind === "plan") return reply(await plan(request));
  planner = new QueryPlanner(request.supergraphSdl);
  maxPlanBytes = request.maxPlanBytes;
  reply(JSON.stringify({ kind: "ready" } satisfies PlannerReply));
});

/** Plans on another thread, so that the end of the parent is noticed meanwhile. Returns a reply as JSON. */
async function plan(request: Extract<PlannerRequest, { kind: "plan" }>): Promise<string> {
  const { operationText, operationName, labels, percentage } = request;
  try {
    const made = await planner?.planAsync(operationText, operationName, new Set(labels), percentage);
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

/** Reading the memory takes 20 µs. It is read again after this many characters of operations and plans. */
const MEASURED_EVERY = 65_536;
let unmeasured = MEASURED_EVERY;

function isMeasured(characters: number): boolean {
  unmeasured += characters;
  if (unmeasured < MEASURED_EVERY) return false;
  unmeasured = 0;
  return true;
}

function failure(reply: Extract<PlannerReply, { kind: "failed" | "too_large" }>): string {
  return JSON.stringify(reply);
}

function reply(line: string): void {
  process.stdout.write(`${line}\n`);
}
