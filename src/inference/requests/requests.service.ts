import type { Database } from "../../db/database.ts";
import {
  decodeTimeCursor,
  encodeTimeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../../kernel/page.ts";
import type { Routing } from "../billing/admitted.ts";
import { InferenceRequestRow } from "./request.row.ts";

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
  readonly cost: { readonly input: bigint; readonly output: bigint; readonly total: bigint } | null;
  /** The attempts and the providers not used; set when it ends. */
  readonly routing: Routing | null;
  readonly errorCode: string | null;
  readonly firstByteMs: number | null;
  readonly durationMs: number | null;
  readonly finishedAt: Date | null;
};

/** Reads the requests of an account. */
export class RequestsService {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The requests with these ids, in order; undefined for one that does not exist or belongs to another account. */
  async byIds(account: string, ids: readonly string[]): Promise<readonly (InferenceRequest | undefined)[]> {
    const rows = await this.#database.em().find(InferenceRequestRow, { id: { $in: [...ids] }, account });
    const byId = new Map(rows.map((row) => [row.id, toRequest(row)]));
    return ids.map((id) => byId.get(id));
  }

  /** The requests of an account, newest first. */
  async list(account: string, page: PageRequest): Promise<Page<InferenceRequest>> {
    const older = page.after === undefined ? {} : olderThan(page.after);
    const rows = await this.#database
      .em()
      .find(
        InferenceRequestRow,
        { account, ...older },
        { orderBy: { createdAt: "desc", id: "desc" }, limit: pageLimit(page) },
      );
    return toPage(rows.map(toRequest), page);
  }
}

/** The cursor after which a list resumes. */
export function requestCursor(request: InferenceRequest): string {
  return encodeTimeCursor(request.createdAt, request.id);
}

/** The first condition is an index range; the second excludes already listed requests of the same time. */
function olderThan(after: string) {
  const { at, id } = decodeTimeCursor(after);
  return { createdAt: { $lte: at }, $or: [{ createdAt: { $lt: at } }, { id: { $lt: id } }] };
}

function toRequest(row: InferenceRequestRow): InferenceRequest {
  const { inputCost, outputCost, totalCost } = row;
  const isBilled = inputCost != null && outputCost != null && totalCost != null;
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
    cost: isBilled ? { input: inputCost, output: outputCost, total: totalCost } : null,
    routing: row.routing ?? null,
    errorCode: row.errorCode ?? null,
    firstByteMs: row.firstByteMs ?? null,
    durationMs: row.durationMs ?? null,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt ?? null,
  };
}
