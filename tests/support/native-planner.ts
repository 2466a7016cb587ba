import { QueryPlanner } from "@graphql-hive/router-query-planner";
import type { Planner } from "../../gateway/federation/engine/planner.ts";

/**
 * The Rust planner in this process: for tests and benches of the engine, whose operations are known to be
 * plannable.
 */
export function createNativePlanner(supergraphSdl: string): Planner {
  const planner = new QueryPlanner(supergraphSdl);
  return {
    plan: (operationText, operationName, { labels, percentage }) =>
      planner.planAsync(operationText, operationName, new Set(labels), percentage),
  };
}
