import type { Queries } from "../../db/database.ts";
import type { HoldRequest } from "../holds.store.ts";
import { costOf, type Settlement } from "../settlements.store.ts";
import type { Allotment } from "./allotment.ts";
import { type AllottedSettlement, type Return, settleAllotted } from "./settle.store.ts";

/** A request between its admission and its end, with the part of the allotment that is reserved for it. */
export type Running = {
  readonly request: HoldRequest;
  readonly allotment: Allotment;
  readonly sinceMs: number;
  granted: bigint;
  isListed: boolean;
  /** How it ended, if that could not be recorded yet. */
  settlement: Settlement | undefined;
};

/** How a request ended; its allotment may be charged up to `covered`. */
export type End = { readonly running: Running; readonly settlement: Settlement };
export type CoveredEnd = End & { readonly covered: bigint };

/**
 * Covers the costs of requests that end together. Each cost is covered by the request's own grant, then by what the
 * others do not need of their grants, and then by the unused part of the allotment, which is reserved for it.
 */
function coverAll(allotment: Allotment, ends: readonly End[]): readonly CoveredEnd[] {
  let spare = ends.reduce(
    (sum, { running, settlement }) => sum + over(running.granted, costOf(settlement)),
    0n,
  );
  return ends.map(({ running, settlement }) => {
    const cost = costOf(settlement);
    const missing = over(cost, running.granted);
    const shared = missing < spare ? missing : spare;
    spare -= shared;
    running.granted += allotment.extend(missing - shared);
    return { running, settlement, covered: cost - over(cost, running.granted + shared) };
  });
}

/** What the allotments of requests that end, and these others, do not need any more. */
export function returnsAfter(
  endings: readonly CoveredEnd[],
  others: readonly Allotment[],
): readonly Return[] {
  const ofOne = Map.groupBy(endings, ({ running }) => running.allotment);
  return [...new Set([...ofOne.keys(), ...others])].flatMap((allotment) => {
    const ending = ofOne.get(allotment) ?? [];
    const reserved = ending.reduce((sum, { running }) => sum + running.granted, 0n);
    return allotment.toReturn(ending.length, reserved) ?? [];
  });
}

/** Records the ends of requests, and returns what their allotments and these others do not need any more. */
export async function settleEnds(
  ends: readonly End[],
  others: readonly Allotment[],
  { queries, isOpen }: { readonly queries: Queries; readonly isOpen: boolean },
) {
  const endings = [...Map.groupBy(ends, ({ running }) => running.allotment)].flatMap(([allotment, ofOne]) =>
    coverAll(allotment, ofOne),
  );
  const returns = returnsAfter(endings, others);
  const settled = await settleAllotted(queries, endings.map(toAllotted), returns, { isOpen });
  return { endings, returns, ...settled };
}

/** The ends of the same requests with other settlements. */
export function withSettlements(ends: readonly End[], settlements: readonly Settlement[]): readonly End[] {
  return ends.map((end, n) => {
    const settlement = settlements[n] ?? end.settlement;
    return settlement === end.settlement ? end : { ...end, settlement };
  });
}

/** The end of a request as it is recorded. */
function toAllotted({
  running: { request, allotment },
  settlement,
  covered,
}: CoveredEnd): AllottedSettlement {
  return { settlement, request, allotmentId: allotment.id, covered };
}

/** By how much the first amount exceeds the second. */
function over(amount: bigint, other: bigint): bigint {
  return amount > other ? amount - other : 0n;
}
