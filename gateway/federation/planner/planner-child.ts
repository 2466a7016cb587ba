import { QueryPlanner } from "@graphql-hive/router-query-planner";

/** Messages to the child process: first the supergraph, then one operation at a time. */
export type PlannerRequest =
  | { readonly kind: "load"; readonly supergraphSdl: string; readonly maxPlanBytes: number }
  | {
      readonly kind: "plan";
      readonly operationText: string;
      readonly operationName: string | null;
      readonly labels: readonly string[];
      readonly percentage: number;
    };

/** Replies of the child process, in order. `plan` is JSON; `rssBytes` is its resident memory. */
export type PlannerReply =
  | { readonly kind: "ready" }
  | { readonly kind: "planned"; readonly plan: string; readonly rssBytes: number }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "too_large"; readonly sizeBytes: number };

let planner: QueryPlanner | undefined;
let maxPlanBytes = 0;

// A signal to the whole process group is for the parent: it drains first, and then ends this process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
// A plain exit would wait for the planning thread, which may hang.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("message", async (request: PlannerRequest) => {
  if (request.kind === "plan") return reply(await plan(request));
  planner = new QueryPlanner(request.supergraphSdl);
  maxPlanBytes = request.maxPlanBytes;
  reply({ kind: "ready" });
});

/** Plans on another thread, so that the end of the parent is noticed meanwhile. */
async function plan(request: Extract<PlannerRequest, { kind: "plan" }>): Promise<PlannerReply> {
  const { operationText, operationName, labels, percentage } = request;
  try {
    const made = await planner?.planAsync(operationText, operationName, new Set(labels), percentage);
    const text = JSON.stringify(made ?? {});
    if (text.length > maxPlanBytes) return { kind: "too_large", sizeBytes: text.length };
    return { kind: "planned", plan: text, rssBytes: process.memoryUsage.rss() };
  } catch (error) {
    return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

function reply(message: PlannerReply): void {
  process.send?.(message);
}
