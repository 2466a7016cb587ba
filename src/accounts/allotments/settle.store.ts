import type { Queries } from "../../db/database.ts";
import { newId } from "../../kernel/text/ids.ts";
import type { HoldRequest } from "../holds.store.ts";
import { costOf, outcomeOf, type Settlement } from "../settlements.store.ts";
import { type AllotmentRow, type StoredAllotment, toAllotment } from "./allotment-row.ts";
import { ENDED_BEFORE, SETTLE, SETTLE_COVERED, SETTLE_COVERED_TAGGED, SETTLE_TAGGED } from "./settle.sql.ts";

/** The end of a request that an allotment pays for, and what its process has set aside for it there, neuron. */
export type AllottedSettlement = {
  readonly settlement: Settlement;
  readonly request: HoldRequest;
  readonly allotmentId: string;
  readonly covered: bigint;
};

/** The amount that a process keeps of an allotment, neuron; `isOver` if no request of it is in progress. */
export type Return = {
  readonly allotmentId: string;
  readonly account: string;
  readonly keyId: string;
  readonly keep: bigint;
  readonly isOver: boolean;
};

/** What a batch of settlements did: the amount charged per settlement, undefined for a request that had already ended. */
export type Settled = {
  readonly charged: readonly (bigint | undefined)[];
  /** The allotments that were changed and still exist. */
  readonly allotments: readonly AllotmentRow[];
};

/**
 * Ends a batch of requests and returns what is not needed of allotments, in one statement. It is nearly always the
 * short one, for which nothing is returned and each request stays within what was set aside for it. The short one may
 * fail, so an open transaction (`isOpen`) uses the other.
 */
export async function settleAllotted(
  queries: Queries,
  settlements: readonly AllottedSettlement[],
  returns: readonly Return[],
  { isOpen }: { readonly isOpen: boolean },
): Promise<Settled> {
  const isCovered = !isOpen && settlements.every(({ settlement, covered }) => covered === costOf(settlement));
  const settled = returns.length === 0 && isCovered ? await settleCovered(queries, settlements) : undefined;
  return settled ?? settleAny(queries, settlements, returns);
}

/** See `SETTLE_COVERED`. Undefined, and then nothing was changed, if an allotment does not have what was set aside. */
async function settleCovered(
  queries: Queries,
  settlements: readonly AllottedSettlement[],
): Promise<Settled | undefined> {
  type Total = {
    readonly n: number;
    readonly id: string;
    readonly account: string;
    readonly key: string;
    charged: bigint;
    used: number;
  };
  const totals = new Map<string, Total>();
  const usedOf = new Map<string, number>();
  const ends = settlements.map((end) => {
    const { settlement, request, allotmentId: id, covered } = end;
    const { account, keyId: key } = request;
    let total = totals.get(id);
    if (!total) {
      total = { n: totals.size, id, account, key, charged: 0n, used: 0 };
      totals.set(id, total);
    }
    const before = total.charged.toString();
    total.charged += covered;
    const usage = isUsage(settlement) ? (usedOf.get(account) ?? 0) + 1 : undefined;
    if (usage !== undefined) {
      usedOf.set(account, usage);
      total.used++;
    }
    return Object.assign(toEnd(end), { total: total.n, before, usage });
  });
  const changes = [...totals.values()].map((total) => ({ ...total, charged: total.charged.toString() }));
  const parameters = [JSON.stringify(ends), JSON.stringify(changes)];
  const statement = areTagged(settlements) ? SETTLE_COVERED_TAGGED : SETTLE_COVERED;
  const rows = await queries.rows<StoredAllotment>(statement, parameters).catch((error: unknown) => {
    if (Object(error).code === ENDED_BEFORE) return [];
    throw error;
  });
  if (rows.length === 0) return undefined;
  return { charged: settlements.map(({ covered }) => covered), allotments: rows.map(toAllotment) };
}

async function settleAny(
  queries: Queries,
  settlements: readonly AllottedSettlement[],
  returns: readonly Return[],
): Promise<Settled> {
  const ends = settlements.map((end, n) => {
    const { account, keyId: key } = end.request;
    return Object.assign(toEnd(end), { n, account, key, allotment: end.allotmentId });
  });
  const kept = returns.map(({ allotmentId: id, account, keyId: key, keep, isOver }) => ({
    ...{ id, account, key, keep: keep.toString(), is_over: isOver, transfer: newId() },
  }));
  const statement = areTagged(settlements) ? SETTLE_TAGGED : SETTLE;
  const rows = await queries.rows<SettledRow>(statement, [JSON.stringify(ends), JSON.stringify(kept)]);
  const charged: (bigint | undefined)[] = settlements.map(() => undefined);
  const allotments: AllotmentRow[] = [];
  for (const row of rows) {
    if (row.n === null) allotments.push(toAllotment(row));
    else charged[row.n] = BigInt(row.charged);
  }
  return { charged, allotments };
}

function toEnd({ settlement, request, covered }: AllottedSettlement) {
  return Object.assign(outcomeOf(settlement, settlement.answeredBy ?? request), {
    covered: covered.toString(),
    model: settlement.answeredBy?.model ?? request.model,
    service_type: request.serviceType,
    tags: request.tags,
  });
}

function areTagged(settlements: readonly AllottedSettlement[]): boolean {
  return settlements.some(({ request }) => request.tags !== undefined);
}

/** Whether the request counts as usage: it was charged, or completed at a price of zero. */
function isUsage(settlement: Settlement): boolean {
  const isAnswered = settlement.outcome === "completed" && settlement.inputTokens !== undefined;
  return isAnswered || costOf(settlement) > 0n;
}

type SettledRow = { readonly n: number; readonly charged: string } | ({ readonly n: null } & StoredAllotment);
