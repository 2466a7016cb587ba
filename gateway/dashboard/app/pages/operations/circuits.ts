import type { ProcessCircuit, ServiceProcess } from "./operations-query.ts";

/** A provider's model as all processes see it. Times are ISO 8601. */
export type Circuit = {
  readonly providerAddress: string;
  readonly modelId: string;
  readonly state: "OPEN" | "HALF_OPEN" | "PAUSED" | "CLOSED";
  /** How many processes send it no requests, or one trial request. */
  readonly processes: number;
  /** When it opened first; null while it is closed everywhere. */
  readonly openedAt: string | null;
  /** The latest end of a pause; null if there is none. */
  readonly pauseEndsAt: string | null;
  readonly failureKind: ProcessCircuit["failureKind"];
  readonly failedAt: string | null;
};

const ORDER = { OPEN: 0, HALF_OPEN: 1, PAUSED: 2, CLOSED: 3 } as const;

/** The circuits that processes report, one for each provider's model, the worst first. Silent processes do not count. */
export function joinCircuits(processes: readonly ServiceProcess[]): readonly Circuit[] {
  const reported = processes.filter(({ silent }) => !silent).flatMap(({ circuits }) => circuits);
  const groups = Map.groupBy(reported, ({ providerAddress, modelId }) => `${providerAddress} ${modelId}`);
  return [...groups.values()]
    .map(join)
    .toSorted(
      (a, b) => ORDER[a.state] - ORDER[b.state] || latest([b.failedAt]).localeCompare(latest([a.failedAt])),
    );
}

function join(circuits: readonly ProcessCircuit[]): Circuit {
  const [first] = circuits as readonly [ProcessCircuit, ...ProcessCircuit[]];
  const affected = circuits.filter(({ state, pauseEndsAt }) => state !== "CLOSED" || pauseEndsAt !== null);
  const pauseEndsAt = latest(circuits.map((circuit) => circuit.pauseEndsAt)) || null;
  const failed = circuits.toSorted((a, b) => latest([b.failedAt]).localeCompare(latest([a.failedAt])))[0];
  const states = circuits.map(({ state }) => state);
  const state = states.includes("OPEN") ? "OPEN" : states.includes("HALF_OPEN") ? "HALF_OPEN" : "CLOSED";
  return {
    providerAddress: first.providerAddress,
    modelId: first.modelId,
    state: state === "CLOSED" && pauseEndsAt ? "PAUSED" : state,
    processes: affected.length,
    openedAt: circuits.flatMap(({ openedAt }) => openedAt ?? []).toSorted()[0] ?? null,
    pauseEndsAt,
    failureKind: failed?.failureKind ?? null,
    failedAt: failed?.failedAt ?? null,
  };
}

/** The latest of some times; empty if there is none. */
function latest(times: readonly (string | null)[]): string {
  return times.reduce<string>((last, time) => (time !== null && time > last ? time : last), "");
}
