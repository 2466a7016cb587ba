import type { HoldsService } from "../accounts/holds.service.ts";
import type { Queries } from "../db/database.ts";
import { inBatches, PeriodicTask } from "../kernel/async/periodic-task.ts";
import { AppError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import {
  claimKey,
  finishKey,
  forgetKeys,
  freeKey,
  type KnownRequest,
  type NamedRequest,
} from "./idempotency.store.ts";
import { PendingOutcomes } from "./pending-outcomes.ts";
import type { ReplayKey } from "./replay-key.ts";
import type { RunningClaims } from "./running-claims.ts";
import { type KeptAnswer, openAnswer, sealAnswer } from "./sealed-answer.ts";

export type { KeptAnswer } from "./sealed-answer.ts";

/**
 * A request with a key. The key is unique per credential, method and route; two requests with equal `bodyHash` are the
 * same request; `replayKey` belongs to the credential.
 */
export type IdempotentRequest = {
  readonly account: string;
  readonly method: string;
  readonly route: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly requestId: string;
  readonly replayKey: ReplayKey | undefined;
  /** Whether the request has no effect but its charge: if its process dies before that is made, it may be run again. */
  readonly isBilled: boolean;
};

type Dependencies = {
  readonly queries: Queries;
  /** The lease of this process: a request that is running when it is over was lost with the process. */
  readonly lease: Pick<HoldsService, "processId" | "leased">;
  readonly claims: RunningClaims;
  readonly log: Logger;
  /** For processes of an earlier version, which do not know leases: a request that runs longer was lost. */
  readonly deadlineSeconds: number;
};

/**
 * A request that holds its key. End it exactly once, with one of these methods; none of them throws. An outcome
 * that the database does not take is written again later.
 */
export type Claim = {
  /** The request was answered with `answer`. An answer over 4 MiB is not stored. */
  keep(answer: KeptAnswer): Promise<void>;
  /** The request was executed, but its answer contains a secret and must not be stored. */
  keepNothing(): Promise<void>;
  /**
   * The request failed: the key may be reused, unless it was charged anyway or its outcome is unknown. Resolves with the
   * error to answer: a retry of a request whose outcome is unknown would only be refused.
   */
  fail(reason: unknown): Promise<unknown>;
  /** The answer was cut off: the key may be reused, unless something was charged. */
  cut(): Promise<void>;
};

const HEADER = "Idempotency-Key";
/** The longest key of a client. */
export const MAX_KEY_LENGTH = 255;
/** A key of a client: printable ASCII, without a space at either end. */
export const KEY_PATTERN = "^[!-~](?:[ -~]*[!-~])?$";
const KEY = new RegExp(KEY_PATTERN);
/** The longest answer that is stored for replay. */
export const MAX_KEPT_BYTES = 4 * 1_048_576;
const CLAIM_ATTEMPTS = 5;
const SWEEP_EVERY_MS = 60_000;
const SWEEP_BATCH = 1_000;

/**
 * Lets a client retry a request without executing it twice (promises P4). The keys are in PostgreSQL, so the retry may
 * reach any process.
 */
export class IdempotencyService {
  readonly #dependencies: Dependencies;
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "deleting old idempotency keys failed"),
  });

  readonly #pending: PendingOutcomes;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#pending = new PendingOutcomes(dependencies.log);
  }

  /**
   * Claims the key for a request, or returns the stored answer of the first request with this key. Throws
   * `idempotency_key_reused` when that request was a different one, `idempotency_in_progress` while it runs,
   * `idempotency_not_replayable` when its answer was not stored or cannot be decrypted, and `invalid_parameter` for
   * an invalid key.
   */
  async begin(request: IdempotentRequest): Promise<Claim | KeptAnswer> {
    const { key, replayKey } = request;
    checkKey(key);
    if (!replayKey) throw new Error("a request with an Idempotency-Key has no credential");
    const named = toNamed(request, replayKey);
    const { claims } = this.#dependencies;
    // Counted before it is stored, so that the lease does not end between the two.
    claims.add(named.requestId);
    let isClaimed = false;
    try {
      const known = await this.#claim(named, key).catch((error: unknown) => {
        isClaimed = isUnknown(error);
        if (isClaimed) this.#giveBack(named, error);
        throw error;
      });
      isClaimed = known === "claimed";
      if (known === "claimed") return this.#claimOf(named, replayKey);
      if (known.bodyName !== named.bodyName)
        throw new AppError(
          "idempotency_key_reused",
          "This Idempotency-Key was already used with a different request.",
          { param: HEADER },
        );
      if (known.state === "kept") return this.#replay(replayKey, known, named);
      throw notReplayable(known.state, known.requestId);
    } finally {
      if (!isClaimed) claims.end(named.requestId);
    }
  }

  async #claim(named: NamedRequest, plainKey: string): Promise<"claimed" | KnownRequest> {
    const { queries, lease, deadlineSeconds } = this.#dependencies;
    const { processId } = lease;
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
      const known = await lease.leased(() =>
        claimKey(queries, named, { plainKey, deadlineSeconds, processId }),
      );
      if (known !== undefined) return known;
    }
    throw inProgress();
  }

  /**
   * Frees the key of a request that is not run, since it is unknown whether the key was claimed: the database became
   * unreachable meanwhile. Otherwise a retry would find a request that seems to run.
   */
  #giveBack(named: NamedRequest, reason: unknown): void {
    const { queries, claims, deadlineSeconds } = this.#dependencies;
    const { requestId } = named;
    this.#pending.add(
      {
        ...{ requestId, sizeBytes: 0, untilMs: performance.now() + 1_000 * deadlineSeconds },
        write: () => freeKey(queries, named, true),
        done: () => claims.end(requestId),
      },
      reason,
    );
  }

  /** Deletes all keys older than 24 h. Returns the count. */
  sweep(): Promise<number> {
    return inBatches(SWEEP_BATCH, (limit) => forgetKeys(this.#dependencies.queries, limit));
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    await this.#pending.stop();
    await this.#sweeps.stop();
  }

  #replay(
    replayKey: ReplayKey,
    { sealed, requestId }: { readonly sealed: Buffer; readonly requestId: string },
    named: NamedRequest,
  ): KeptAnswer {
    try {
      return openAnswer(replayKey, sealed, named);
    } catch (error) {
      this.#dependencies.log.error({ err: error, requestId }, "a stored answer cannot be decrypted");
      throw notReplayable("lost", requestId);
    }
  }

  #claimOf(named: NamedRequest, replayKey: ReplayKey): Claim {
    const { queries, claims, deadlineSeconds } = this.#dependencies;
    const { requestId } = named;
    const done = () => claims.end(requestId);
    const record = async <T>(write: () => Promise<T>, sizeBytes = 0): Promise<T | undefined> => {
      try {
        const result = await write();
        done();
        return result;
      } catch (error) {
        const untilMs = performance.now() + 1_000 * deadlineSeconds;
        this.#pending.add({ requestId, sizeBytes, untilMs, write, done }, error);
        return undefined;
      }
    };
    const outcomeOf = (answer: KeptAnswer) =>
      answer.body.length > MAX_KEPT_BYTES ? "lost" : sealAnswer(replayKey, answer, named);
    return {
      async keep(answer) {
        const outcome = outcomeOf(answer);
        const sizeBytes = typeof outcome === "string" ? 0 : outcome.length;
        await record(() => finishKey(queries, named, outcome), sizeBytes);
      },
      keepNothing: () => record(() => finishKey(queries, named, "secret")),
      async fail(reason) {
        const isUndone = named.isBilled || provesUndone(reason);
        const isFree = await record(() => freeKey(queries, named, isUndone));
        return isFree === false && isUnknown(reason) ? outcomeUnknown(requestId, reason) : reason;
      },
      async cut() {
        await record(() => freeKey(queries, named, false));
      },
    };
  }
}

function toNamed(request: IdempotentRequest, replayKey: ReplayKey): NamedRequest {
  const { account, method, route, key, bodyHash, requestId, isBilled } = request;
  const scopeName = replayKey.name(JSON.stringify(["scope", account, method, route, key]));
  const bodyName = replayKey.name(JSON.stringify(["body", bodyHash]));
  return { account, method, route, scopeName, bodyName, requestId, isBilled };
}

/** Whether a retry is expected of the client although the request may have been executed, or its key claimed. */
function isUnknown(reason: unknown): boolean {
  return reason instanceof AppError && reason.code === "unavailable";
}

/** Whether the failure proves that the request was not executed; after any other, it may have been. */
function provesUndone(reason: unknown): boolean {
  return reason instanceof AppError && reason.code !== "internal_error" && reason.code !== "unavailable";
}

function checkKey(key: string): void {
  if (key.length > MAX_KEY_LENGTH || !KEY.test(key))
    throw new AppError(
      "invalid_parameter",
      `${HEADER}: must be one header of 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
      { param: HEADER },
    );
}

function notReplayable(state: "running" | "secret" | "lost", requestId: string): AppError {
  if (state === "running") return inProgress();
  const why = state === "secret" ? "contained a secret, which is shown only once" : "was not stored";
  return new AppError(
    "idempotency_not_replayable",
    `The request with this Idempotency-Key was accepted as ${requestId}, but its answer ${why}. It is not run again.`,
  );
}

function outcomeUnknown(requestId: string, cause: unknown): AppError {
  return new AppError(
    "idempotency_not_replayable",
    `A part of this service became unreachable before ${requestId} ended, so that request may have taken effect. It is not run again: check for its effect, or use another Idempotency-Key.`,
    { cause },
  );
}

function inProgress(): AppError {
  return new AppError("idempotency_in_progress", "The request with this Idempotency-Key is still running.");
}
