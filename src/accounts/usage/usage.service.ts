import type { AccountReads } from "../../db/account-reads.ts";
import {
  encodeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  scanOf,
  toPage,
} from "../../kernel/page.ts";
import { sumPerformance, type UsagePerformance } from "./provider-usage.store.ts";
import { sumUsageByTag, type TagUsage } from "./tag-usage.store.ts";
import {
  sumCredits,
  sumUsage,
  type UsageDay,
  type UsageFilter,
  type UsageRow,
  type UsageTotals,
} from "./usage.store.ts";
import { sumUsageByPeriod, type UsageBucket, type UsageDivision } from "./usage-buckets.store.ts";
import { countUsage } from "./usage-count.store.ts";
import { sumUsageByDay } from "./usage-days.store.ts";
import { listUsage } from "./usage-history.store.ts";

export type { UsagePerformance } from "./provider-usage.store.ts";
export type { TagUsage } from "./tag-usage.store.ts";
export type { Grain } from "./time-ranges.ts";
export type { TrustMode, UsageDay, UsageFilter, UsageRow, UsageSource, UsageTotals } from "./usage.store.ts";
export type { UsageBucket, UsageDivision, UsageGroup } from "./usage-buckets.store.ts";

const MAX_USAGE_ID = 2n ** 63n - 1n;
/** Not "usage", the kind of older cursors, whose numbers were those of the whole router. */
const LIST = "account-usage";

/**
 * The usage of an account: the requests that were charged, and those completed at a price of zero. Their costs add up
 * to what the account paid. Every method throws what `AccountReads` throws, and stops when `signal` aborts.
 */
export class UsageService {
  readonly #reads: AccountReads;

  constructor(reads: AccountReads) {
    this.#reads = reads;
  }

  /** Totals over all requests that match `filter`. */
  stats(account: string, filter: UsageFilter, signal?: AbortSignal): Promise<UsageTotals> {
    return sumUsage({ reads: this.#reads, account, filter, signal });
  }

  /** The balance of an account, including what is held, and what all its requests were charged. Neuron. */
  credits(
    account: string,
    signal?: AbortSignal,
  ): Promise<{ readonly balance: bigint; readonly used: bigint }> {
    return sumCredits({ reads: this.#reads, account, signal });
  }

  /** Totals by UTC day and model, newest day first; with `byTrustMode`, by trust mode too. */
  daily(
    account: string,
    filter: UsageFilter,
    {
      byTrustMode = false,
      signal,
    }: { readonly byTrustMode?: boolean; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<readonly UsageDay[]> {
    return sumUsageByDay({ reads: this.#reads, account, filter, signal }, byTrustMode);
  }

  /** Totals by UTC period, oldest first, and by what else `division` says. Throws `invalid_parameter` for too many. */
  buckets(
    account: string,
    filter: UsageFilter,
    division: UsageDivision,
    signal?: AbortSignal,
  ): Promise<readonly UsageBucket[]> {
    return sumUsageByPeriod({ reads: this.#reads, account, filter, signal }, division);
  }

  /**
   * How fast requests were answered, and what the providers' caches saved. Throws `invalid_parameter` for a filter
   * other than a range of time.
   */
  performance(account: string, filter: UsageFilter, signal?: AbortSignal): Promise<UsagePerformance> {
    return sumPerformance({ reads: this.#reads, account, filter, signal });
  }

  /** Totals by tag, the most expensive first, of those with a name or of all; `filter` has no tag. */
  byTag(
    account: string,
    filter: Omit<UsageFilter, "tag">,
    options: {
      readonly name: string | undefined;
      readonly limit: number;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<readonly TagUsage[]> {
    return sumUsageByTag({ reads: this.#reads, account, filter, signal: options.signal }, options);
  }

  /** The number of requests of a history: those that match `filter` and are not removed. */
  count(account: string, filter: UsageFilter, signal?: AbortSignal): Promise<bigint> {
    return countUsage({ reads: this.#reads, account, filter, signal });
  }

  /**
   * Individual requests, newest first, without the first `skip`. A request that ends meanwhile sorts before the first
   * page and shifts no later one if pages are requested by cursor.
   */
  async history(
    account: string,
    filter: UsageFilter,
    page: PageRequest & { readonly skip?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<Page<UsageRow>> {
    const limit = pageLimit(page);
    const read = { reads: this.#reads, account, filter, signal: page.signal };
    const wanted = { scan: scanOf(page, "desc"), from: readCursor(page), skip: page.skip ?? 0, limit };
    return toPage(await listUsage(read, wanted), page);
  }
}

/** The cursor after which a history resumes. */
export function usageCursor({ id }: Pick<UsageRow, "id">): string {
  return encodeCursor(LIST, id.toString());
}

function readCursor(page: PageRequest): bigint | undefined {
  const key = readPageCursor(page, LIST, 1);
  if (!key) return undefined;
  const [text = ""] = key;
  if (!/^\d{1,19}$/.test(text) || BigInt(text) > MAX_USAGE_ID) throw invalidCursorOf(page);
  return BigInt(text);
}
