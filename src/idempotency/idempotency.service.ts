import type { Queries } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import { claimKey, finishKey, forgetKeys, freeKey, type NamedRequest } from "./idempotency.store.ts";
import type { ReplayKey } from "./replay-key.ts";
import { type KeptAnswer, openAnswer, sealAnswer } from "./sealed-answer.ts";

export type { KeptAnswer } from "./sealed-answer.ts";

/**
 * A request with a key. The key is unique for one credential, method and route; `bodyHash` tells whether two requests
 * ask for the same; `replayKey` is the credential's.
 */
export type IdempotentRequest = {
  readonly account: string;
  readonly method: string;
  readonly route: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly requestId: string;
  readonly replayKey: ReplayKey | undefined;
};

type Dependencies = {
  readonly queries: Queries;
  readonly log: Logger;
  /** After this a request that has not ended was lost with its process. */
  readonly deadlineSeconds: number;
};

/** A request that has its key. It must be ended once, by one of these; none of them throws. */
export type Claim = {
  /** It was answered so. An answer over 4 MiB is not kept. */
  keep(answer: KeptAnswer): Promise<void>;
  /** It was done, and its answer is not to be kept: it shows a secret. */
  keepNothing(): Promise<void>;
  /** It failed: the key may be used again, unless it was charged all the same or its outcome is unknown. */
  fail(reason: unknown): Promise<void>;
  /** Its answer did not reach its end: the key may be used again, unless something was charged. */
  cut(): Promise<void>;
};

const MAX_KEY_LENGTH = 255;
/** The longest answer that is kept for being repeated. */
export const MAX_KEPT_BYTES = 4 * 1_048_576;
const CLAIM_ATTEMPTS = 5;
const SWEEP_EVERY_MS = 60_000;
const SWEEP_BATCH = 1_000;

/**
 * Lets a client repeat a request without its being done twice (promises P4). The keys are in PostgreSQL, so it is all
 * the same which process is asked again.
 */
export class IdempotencyService {
  readonly #dependencies: Dependencies;
  #sweeper: NodeJS.Timeout | undefined;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Takes the key for a request, or gives the answer that the first request with it had. Throws
   * `idempotency_key_reused` when that asked for something else, `idempotency_in_progress` while it runs,
   * `idempotency_not_replayable` when its answer was not stored or cannot be opened, and `invalid_parameter` for an
   * invalid key.
   */
  async begin(request: IdempotentRequest): Promise<Claim | KeptAnswer> {
    const { key, replayKey } = request;
    checkKey(key);
    if (!replayKey) throw new Error("a request with an Idempotency-Key came without its credential");
    const named = toNamed(request, replayKey);
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
      const known = await claimKey(
        this.#dependencies.queries,
        named,
        key,
        this.#dependencies.deadlineSeconds,
      );
      if (known === undefined) continue;
      if (known === "claimed") return this.#claimOf(named, replayKey);
      if (known.bodyName !== named.bodyName)
        throw new AppError("idempotency_key_reused", "This Idempotency-Key was sent with another request.");
      if (known.state === "kept") return this.#open(replayKey, known, named);
      throw notNow(known.state, known.requestId);
    }
    throw inProgress();
  }

  /** Deletes all keys older than 24 h. Returns how many. */
  async sweep(): Promise<number> {
    let gone = 0;
    for (;;) {
      const batch = await forgetKeys(this.#dependencies.queries, SWEEP_BATCH);
      gone += batch;
      if (batch < SWEEP_BATCH) return gone;
    }
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    const sweep = () => {
      this.#sweeping = this.sweep().catch((error: unknown) =>
        this.#dependencies.log.error({ err: error }, "deleting old idempotency keys failed"),
      );
    };
    sweep();
    this.#sweeper = setInterval(sweep, SWEEP_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#sweeping;
  }

  #open(
    replayKey: ReplayKey,
    { sealed, requestId }: { readonly sealed: Buffer; readonly requestId: string },
    named: NamedRequest,
  ): KeptAnswer {
    try {
      return openAnswer(replayKey, sealed, named);
    } catch (error) {
      this.#dependencies.log.error({ err: error, requestId }, "a stored answer cannot be opened");
      throw notNow("lost", requestId);
    }
  }

  #claimOf(named: NamedRequest, replayKey: ReplayKey): Claim {
    const { queries, log } = this.#dependencies;
    const noted = async (note: Promise<void>) => {
      await note.catch((error: unknown) =>
        log.error({ err: error, requestId: named.requestId }, "the end of a request could not be kept"),
      );
    };
    const endOf = (answer: KeptAnswer) =>
      answer.body.length > MAX_KEPT_BYTES ? "lost" : sealAnswer(replayKey, answer, named);
    return {
      keep: (answer) => noted(finishKey(queries, named, endOf(answer))),
      keepNothing: () => noted(finishKey(queries, named, "secret")),
      fail: (reason) => noted(freeKey(queries, named, isUnderstood(reason))),
      cut: () => noted(freeKey(queries, named, false)),
    };
  }
}

function toNamed(request: IdempotentRequest, replayKey: ReplayKey): NamedRequest {
  const { account, method, route, key, bodyHash, requestId } = request;
  const scopeName = replayKey.name(JSON.stringify(["scope", account, method, route, key]));
  const bodyName = replayKey.name(JSON.stringify(["body", bodyHash]));
  return { account, method, route, scopeName, bodyName, requestId };
}

/** Whether a failure says how far the request came; behind any other, it may have been done. */
function isUnderstood(reason: unknown): boolean {
  return reason instanceof AppError && reason.code !== "internal_error" && reason.code !== "unavailable";
}

function checkKey(key: string): void {
  if (key.length > MAX_KEY_LENGTH || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key))
    throw new AppError(
      "invalid_parameter",
      `Idempotency-Key: must be 1 to ${MAX_KEY_LENGTH} printable characters of ASCII.`,
      { param: "Idempotency-Key" },
    );
}

function notNow(state: "running" | "secret" | "lost", requestId: string): AppError {
  if (state === "running") return inProgress();
  const why = state === "secret" ? "showed a secret, which is shown once" : "was not kept";
  return new AppError(
    "idempotency_not_replayable",
    `The request with this Idempotency-Key was taken as ${requestId}, and its answer ${why}. It is not done again.`,
  );
}

function inProgress(): AppError {
  return new AppError("idempotency_in_progress", "The request with this Idempotency-Key is still running.");
}
