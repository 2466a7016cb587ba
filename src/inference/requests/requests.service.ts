import type { Tags } from "../../accounts/tags/tags.ts";
import { recordedSaving } from "../../accounts/usage/cache-saving.ts";
import type { RowCount } from "../../db/count-rows.ts";
import type { Database } from "../../db/database.ts";
import {
  encodeCursor,
  encodeTimeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  readTimeCursor,
  scanOf,
  toPage,
} from "../../kernel/page.ts";
import { readIsoTime } from "../../kernel/text/times.ts";
import { type Reach, reaches } from "../../keys/auth/permissions.ts";
import type { Routing } from "../billing/ending.ts";
import { InferenceRequestRow } from "./request.row.ts";
import {
  countRequests,
  listRequestIds,
  type RequestFilter,
  type RequestPlace,
  type RequestSort,
} from "./request-list.store.ts";

/**
 * The cost of a request, neuron. `cacheSaving` is null if the balance did not cover the whole cost, and for a stored
 * answer, which no provider was paid for.
 */
export type RequestCost = {
  readonly input: bigint;
  readonly output: bigint;
  readonly total: bigint;
  readonly cacheSaving: bigint | null;
};

/** An admitted request. Costs are neuron, set when it ends. */
export type InferenceRequest = Readonly<
  Pick<
    InferenceRequestRow,
    "id" | "account" | "model" | "provider" | "serviceType" | "status" | "usageEstimated" | "createdAt"
  >
> & {
  readonly apiKeyId: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Input tokens read from the provider's cache, and written to it for minutes and for an hour; set when it ends. */
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly cacheWrite1hTokens: number | null;
  /** Neuron per token or unit, of the length of the prompt; of the provider that answered once it ended. */
  readonly prices: { readonly input: bigint; readonly output: bigint };
  readonly cost: RequestCost | null;
  /** The attempts and the providers not used; set when it ends. */
  readonly routing: Routing | null;
  readonly errorCode: string | null;
  readonly firstByteMs: number | null;
  readonly durationMs: number | null;
  readonly finishedAt: Date | null;
  readonly tags: Tags;
};

/** The order of a list of requests. */
export type RequestOrder = { readonly sort: RequestSort; readonly direction: "asc" | "desc" };

export type { RequestFilter, RequestSort };

/** How a list is read: the order, newest first by default, and a signal that cancels it. */
type ListOptions = {
  readonly filter?: RequestFilter;
  readonly order?: RequestOrder;
  readonly signal?: AbortSignal | undefined;
};

/** The list in an order, in its cursors. */
const listIn = ({ sort, direction }: RequestOrder) => `requests-by-${sort}-${direction}`;

const NEWEST_FIRST: RequestOrder = { sort: "created", direction: "desc" };

/** Reads the requests of an account. */
export class RequestsService {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The requests with these ids, in order; undefined for one that does not exist or belongs to another account. */
  async byIds(account: string, ids: readonly string[]): Promise<readonly (InferenceRequest | undefined)[]> {
    if (ids.length === 0) return [];
    const rows = await this.#database.em().find(InferenceRequestRow, { id: { $in: [...ids] }, account });
    const byId = new Map(rows.map((row) => [row.id, toRequest(row)]));
    return ids.map((id) => byId.get(id));
  }

  /** The request with this id; undefined for one that does not exist or is not within reach. */
  async find(reach: Reach, id: string): Promise<InferenceRequest | undefined> {
    const [request] = await this.byIds(reach.account, [id]);
    return request && reaches(reach, { account: request.account, keyId: request.apiKeyId })
      ? request
      : undefined;
  }

  /** The requests of an account that match a filter. Throws what `AccountReads` throws. */
  async list(
    account: string,
    page: PageRequest,
    { filter = {}, order = NEWEST_FIRST, signal }: ListOptions = {},
  ): Promise<Page<InferenceRequest>> {
    const { sort, direction } = order;
    const wanted = {
      sort,
      scan: scanOf(page, direction),
      from: readPlace(page, order),
      limit: pageLimit(page),
    };
    const read = { reads: this.#database.reads, account, filter, signal };
    const ids = await listRequestIds(read, wanted);
    const found = await this.byIds(account, ids);
    // One that retention removed in between is left out.
    const rows = found.filter((request) => request !== undefined);
    return { ...toPage(ids, page), rows: toPage(rows, page).rows };
  }

  /** How many requests of an account match a filter. Throws what `AccountReads` throws. */
  count(account: string, filter: RequestFilter, signal?: AbortSignal): Promise<RowCount> {
    return countRequests({ reads: this.#database.reads, account, filter, signal });
  }
}

/** The cursor after which a list resumes, in the same order. */
export function requestCursor(
  { id, createdAt, cost }: InferenceRequest,
  order: RequestOrder = NEWEST_FIRST,
): string {
  if (order.sort === "created") return encodeTimeCursor(listIn(order), createdAt, id);
  return encodeCursor(listIn(order), `${cost?.total ?? 0n}`, createdAt.toISOString(), id);
}

function readPlace(page: PageRequest, order: RequestOrder): RequestPlace | undefined {
  if (order.sort === "created") return readTimeCursor(page, listIn(order));
  const place = readPageCursor(page, listIn(order), 3);
  if (!place) return undefined;
  const [cost = "", time = "", id = ""] = place;
  const at = readIsoTime(time);
  if (!at || !/^\d{1,78}$/.test(cost)) throw invalidCursorOf(page);
  return { at, id, cost: BigInt(cost) };
}

function costOf(row: InferenceRequestRow): RequestCost | null {
  const { inputCost, outputCost, totalCost, inputPrice, outputPrice } = row;
  if (inputCost == null || outputCost == null || totalCost == null) return null;
  const cacheTokens = row.cachedTokens + row.cacheWriteTokens + row.cacheWrite1hTokens;
  const { inputTokens, outputTokens } = row;
  const tokens = { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0, cacheTokens };
  const { cachedFrom, inputCost: whole } = row.routing ?? {};
  const wholeInputCost = whole === undefined ? undefined : BigInt(whole);
  const cacheSaving = cachedFrom
    ? null
    : recordedSaving({ ...tokens, inputPrice, outputPrice, inputCost, outputCost, wholeInputCost });
  return { input: inputCost, output: outputCost, total: totalCost, cacheSaving };
}

function toRequest(row: InferenceRequestRow): InferenceRequest {
  return {
    id: row.id,
    account: row.account,
    apiKeyId: row.apiKeyId ?? null,
    model: row.model,
    provider: row.provider,
    serviceType: row.serviceType,
    status: row.status,
    inputTokens: row.inputTokens ?? null,
    outputTokens: row.outputTokens ?? null,
    cachedTokens: row.inputTokens == null ? null : row.cachedTokens,
    cacheWriteTokens: row.inputTokens == null ? null : row.cacheWriteTokens,
    cacheWrite1hTokens: row.inputTokens == null ? null : row.cacheWrite1hTokens,
    usageEstimated: row.usageEstimated,
    prices: { input: row.inputPrice, output: row.outputPrice },
    cost: costOf(row),
    routing: row.routing ?? null,
    errorCode: row.errorCode ?? null,
    firstByteMs: row.firstByteMs ?? null,
    durationMs: row.durationMs ?? null,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt ?? null,
    tags: row.tags ?? {},
  };
}
