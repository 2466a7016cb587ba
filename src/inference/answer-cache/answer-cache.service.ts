import type { Database } from "../../db/database.ts";
import { type KeptAnswer, openAnswer, sealAnswer } from "../../idempotency/sealed-answer.ts";
import { InProgress } from "../../kernel/async/in-progress.ts";
import { inBatches, PeriodicTask } from "../../kernel/async/periodic-task.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { MemoryLease } from "../../load/memory-budget.ts";
import type { Admitted } from "../billing/admitted.ts";
import type { Served } from "../billing/ending.ts";
import { deleteAnswer, deleteExpired, findAnswer, storeAnswer } from "./answer-cache.store.ts";
import { type CachedAnswer, type CacheRequest, type ChargedCost, MAX_CACHED_BYTES } from "./cache-request.ts";

type Dependencies = {
  readonly database: Pick<Database, "rows" | "transaction">;
  readonly log: Pick<Logger, "error">;
  /** The most that is stored of one account, bytes; 0 turns the cache off. */
  readonly maxBytesPerAccount: number;
  /** What a request costs that is answered from the cache, percent of the cost of the request that it repeats. */
  readonly hitPricePercent: number;
};

const SCOPE = "cached answer";
/** Shorter answers are bounded by the number of requests, and not worth counting. */
const MIN_COUNTED_BYTES = 65_536;
/** An answer is held as it arrives from the database, as it is stored, and decrypted. */
const COPIES = 3;
const SWEEP_EVERY_MS = 60_000;
const SWEEP_BATCH = 1_000;

/** Stores the answers of providers for equal requests of the same credential, encrypted under its secret. */
export class AnswerCacheService {
  readonly #dependencies: Dependencies;
  readonly #stores = new InProgress();
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "deleting old cached answers failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** What a request is charged that is answered from the cache in place of one that cost this. Rounded down. */
  hitCost({ input, output }: ChargedCost): ChargedCost {
    const percent = BigInt(this.#dependencies.hitPricePercent);
    return { input: (input * percent) / 100n, output: (output * percent) / 100n };
  }

  /**
   * Returns the stored answer that an admitted request gets, and records which it is; undefined if there is none. The
   * answer must come from a candidate of the request, so that the client and the key accept it. A request that requires
   * proof of its answer gets none: the proof of a stored answer is that of the earlier request. `lease` counts its
   * memory.
   */
  async serve(admitted: Admitted, lease: MemoryLease | undefined): Promise<Served | undefined> {
    const { requiredEvidence, candidates } = admitted;
    const cache = limitedCache(admitted);
    if (!cache) return undefined;
    if (requiredEvidence !== undefined) {
      admitted.markCacheUse({ status: "bypass" });
      return undefined;
    }
    const found = await this.#find(cache, admitted.account, lease);
    const { formOf } = admitted.request;
    const provider = candidates.find(
      (candidate) =>
        candidate.address === found?.cached.provider &&
        candidate.model === found.cached.model &&
        formOf?.(candidate) === found.cached.form,
    );
    if (!found || !provider) {
      admitted.markCacheUse({ status: "miss" });
      return undefined;
    }
    const { cached, ageSeconds } = found;
    const served = { cached, provider };
    admitted.markCacheUse({ status: "hit", requestId: cached.requestId, ageSeconds }, served);
    return served;
  }

  /**
   * Stores the whole answer of a provider to a request that got no stored one, unless it is too long, or may be shorter
   * than another because the balance did not suffice for more. Never rejects.
   */
  async keep(admitted: Admitted, answer: CachedAnswer["answer"]) {
    const { cacheUse, ended, account, requestId, isReduced } = admitted;
    const cache = limitedCache(admitted);
    if (!cache || isReduced || cacheUse?.status !== "miss" || ended?.outcome !== "completed") return;
    const { input_cost: input, output_cost: output } = ended.bill.billing;
    const { address: provider, model } = ended.provider;
    const cost = { input: BigInt(input), output: BigInt(output) };
    const form = admitted.request.formOf?.(ended.provider);
    await this.#store(cache, account, { requestId, provider, model, form, cost, answer });
  }

  /** Deletes the stored answer that a request got, because its content cannot be read. Never rejects. */
  async forget(admitted: Admitted): Promise<void> {
    const { database, log } = this.#dependencies;
    const cache = limitedCache(admitted);
    if (!cache) return;
    log.error({ requestId: admitted.requestId }, "a cached answer cannot be read; it is deleted");
    try {
      await deleteAnswer(database, { account: admitted.account, name: cache.name });
    } catch (error) {
      log.error({ err: error }, "a cached answer could not be deleted");
    }
  }

  /** An answer that cannot be read or has no room in memory, and a database that fails, count as none. */
  async #find({ name, maxAgeSeconds, key }: CacheRequest, account: string, lease: MemoryLease | undefined) {
    const { database, log } = this.#dependencies;
    const wanted = { account, name, maxAgeSeconds };
    try {
      let stored = await findAnswer(database, wanted, MIN_COUNTED_BYTES);
      if (stored && !stored.sealed) {
        lease?.reserve(COPIES * stored.sizeBytes);
        stored = await findAnswer(database, wanted, stored.sizeBytes);
      }
      if (!stored?.sealed) return undefined;
      const opened = openAnswer(key, stored.sealed, { scopeName: SCOPE, bodyName: name });
      return { cached: toCached(opened), ageSeconds: stored.ageSeconds };
    } catch (error) {
      if (error instanceof AppError && error.code === "overloaded") return undefined;
      log.error({ err: error }, "a cached answer cannot be read");
      return undefined;
    }
  }

  #store({ name, maxAgeSeconds, key }: CacheRequest, account: string, cached: CachedAnswer): Promise<void> {
    const { database, log, maxBytesPerAccount } = this.#dependencies;
    if (cached.answer.body.length > Math.min(MAX_CACHED_BYTES, maxBytesPerAccount)) return Promise.resolve();
    const sealed = sealAnswer(key, toKept(cached), { scopeName: SCOPE, bodyName: name });
    if (sealed.length > maxBytesPerAccount) return Promise.resolve();
    const row = { account, name, sealed, keptSeconds: maxAgeSeconds };
    const stored = storeAnswer(database, row, maxBytesPerAccount).catch((error: unknown) =>
      log.error({ err: error }, "an answer could not be cached"),
    );
    return this.#stores.add(stored);
  }

  /** Deletes the answers whose time is over. Returns the count. */
  sweep(): Promise<number> {
    return inBatches(SWEEP_BATCH, (limit) => deleteExpired(this.#dependencies.database, limit));
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    this.#sweeps.start();
  }

  /** Stops sweeping, and waits until every answer is stored. */
  async stop(): Promise<void> {
    await this.#sweeps.stop();
    await this.#stores.settled();
  }
}

/** A limit that the key adds to the answer is part of its name: with another, the answer may differ. */
function limitedCache({ cache, request: { answerLimit } }: Admitted): CacheRequest | undefined {
  return cache && answerLimit !== undefined ? { ...cache, name: `${cache.name}/${answerLimit}` } : cache;
}

function toKept({ requestId, provider, model, form, cost, answer }: CachedAnswer): KeptAnswer {
  const headers = {
    ...{ requestId, provider, model, contentType: answer.contentType },
    ...(form !== undefined && { form }),
    ...{ inputCost: `${cost.input}`, outputCost: `${cost.output}` },
  };
  return { status: 200, headers, body: answer.body };
}

function toCached({ headers, body }: KeptAnswer): CachedAnswer {
  const { requestId = "", provider = "", model = "", contentType = "" } = headers;
  const { inputCost = "0", outputCost = "0", form } = headers;
  return {
    ...{ requestId, provider, model, form },
    cost: { input: BigInt(inputCost), output: BigInt(outputCost) },
    answer: { contentType, body },
  };
}
