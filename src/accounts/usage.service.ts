import type { Queries } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import {
  decodeCursor,
  encodeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../kernel/page.ts";
import {
  listUsage,
  sumUsage,
  sumUsageByDay,
  type UsageDay,
  type UsageFilter,
  type UsageRow,
  type UsageTotals,
} from "./usage.store.ts";

export type { TrustMode, UsageDay, UsageFilter, UsageRow, UsageSource, UsageTotals } from "./usage.store.ts";

const MAX_USAGE_ID = 2n ** 63n - 1n;

/**
 * What an account used: the requests that delivered or cost something, as the ledger was told of them. Their costs
 * add up to what the account paid.
 */
export class UsageService {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  /** Sums over all requests that `filter` lets through. */
  stats(account: string, filter: UsageFilter): Promise<UsageTotals> {
    return sumUsage(this.#queries, account, filter);
  }

  /** Sums by day of UTC and model, newest day first; with `byTrustMode`, by trust mode too. */
  daily(account: string, filter: UsageFilter, { byTrustMode = false } = {}): Promise<readonly UsageDay[]> {
    return sumUsageByDay(this.#queries, account, filter, byTrustMode);
  }

  /**
   * The requests one by one, newest first, without the first `skip`. A request that ends meanwhile comes before the
   * first page and shifts no later one, when pages are asked for by cursor.
   */
  async history(
    account: string,
    filter: UsageFilter,
    page: PageRequest & { readonly skip?: number },
  ): Promise<Page<UsageRow>> {
    const limit = pageLimit(page);
    const before = page.after === undefined ? undefined : readCursor(page.after);
    const place = { before, skip: page.skip ?? 0, limit };
    return toPage(await listUsage(this.#queries, account, filter, place), page);
  }
}

/** Where a history goes on after this request. */
export function usageCursor({ id }: Pick<UsageRow, "id">): string {
  return encodeCursor("usage", id.toString());
}

function readCursor(cursor: string): bigint {
  const [kind, text = ""] = decodeCursor(cursor, 2);
  if (kind !== "usage" || !/^\d{1,19}$/.test(text) || BigInt(text) > MAX_USAGE_ID)
    throw new AppError("invalid_cursor", "This cursor is not one of ours.", { param: "after" });
  return BigInt(text);
}
