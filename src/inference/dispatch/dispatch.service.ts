import { InProgress } from "../../kernel/async/in-progress.ts";
import { forEachInTurns } from "../../kernel/async/shared-turns.ts";
import { AppError, FAILURES } from "../../kernel/errors.ts";
import { memoizeLast } from "../../kernel/memoize-last.ts";
import type { MemoryBudget } from "../../load/memory-budget.ts";
import type { AnswerCacheService } from "../answer-cache/answer-cache.service.ts";
import { AnswerRecorder } from "../answer-cache/answer-recorder.ts";
import { replayExchange } from "../answer-cache/replayed-exchange.ts";
import type { Admitted } from "../billing/admitted.ts";
import type { BillingService } from "../billing/billing.service.ts";
import type { Served } from "../billing/ending.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import type { Trace } from "../billing/trace.ts";
import { type ShownAnswer, shownBody } from "../chat/answer-edits.ts";
import type { PostOptions, ProviderClient } from "../providers/exchange/provider.client.ts";
import { gatherAnswer, type ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import type { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import type { Provider } from "../providers/provider.ts";
import type { AttemptOptions } from "./attempt.ts";
import type { FailoverService } from "./failover.service.ts";
import type { Reading } from "./reading.ts";
import { ReadingTurns } from "./reading-turns.ts";
import { attemptFor, ifReadable, readAs, readServed } from "./stored-answer.ts";
import type { StreamOptions } from "./stream-options.ts";
import { StreamRelay } from "./stream-relay.ts";

type Dependencies = {
  readonly failover: FailoverService;
  readonly providers: ProviderClient;
  readonly billing: Pick<BillingService, "settle">;
  readonly memory: MemoryBudget;
  readonly settings: DispatchSettings;
  readonly cache?: Pick<AnswerCacheService, "serve" | "keep" | "forget"> | undefined;
};

/** How long an answer may take, by its phases, and what happens to an interrupted stream. */
export type DispatchSettings = {
  /** Deadline for the head of an answer, milliseconds. The last provider has the whole time of the request. */
  readonly firstByteMs: number;
  /** Maximum silence between two chunks, milliseconds. */
  readonly silenceMs: number;
  /**
   * Deadline, while another provider can be tried, for the first content of a stream, and for the first byte of a whole
   * answer after its head, milliseconds.
   */
  readonly firstTokenMs: number;
  /** How long a client may leave a stream unread before it counts as disconnected, milliseconds. */
  readonly stallMs: number;
  /** Whether an interrupted stream resumes with the next provider whose answer starts with the delivered text. */
  readonly resumesStreams: boolean;
};

/** An endpoint of providers, or that of each. */
type EndpointPath = `/${string}` | ((provider: Provider) => `/${string}`);

/** 125 tokens a second: an answer of 4,096 tokens has 93 s by default before another provider is tried. */
const MS_PER_TOKEN = 8;

/** Sends admitted requests to their candidates, and relays and bills the answer of the one that answers. */
export class DispatchService {
  readonly #dependencies: Dependencies;
  readonly #running = new InProgress();
  readonly #streams = new Set<StreamRelay>();
  readonly #turns = new ReadingTurns();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Posts an admitted request to the endpoint `path` and collects the whole answer; `read` validates it and returns the
   * billed usage, and `show` returns it as the client sees it: by default with the edits of `read`, its cost and the bill. If
   * `read` throws a `ProviderFailure`, the next provider is tried; any other `AppError` is the answer to the client.
   * A stored answer that the client accepts takes the place of a provider's, unless it can no longer be read. Resolves
   * when the bill is committed. On every failure the hold is ended. The trace of an answer that lacks the required proof
   * has an `error`: it is billed, so it is delivered.
   */
  async collect(
    admitted: Admitted,
    path: EndpointPath,
    given: PostOptions & {
      readonly signal: AbortSignal;
      readonly maxBytes?: number;
      /** Maximum tokens of the answer, where it consists of tokens. */
      readonly answerTokens?: number;
      read(answer: ProviderAnswer, provider: Provider): Promise<Reading>;
      show?(answer: ProviderAnswer, reading: Reading, trace: Trace, cost: ShownCost): Promise<Buffer>;
    },
  ): Promise<ShownAnswer> {
    const { show = shownBody } = given;
    const { failover, providers, billing, memory, settings, cache } = this.#dependencies;
    const { signal } = given;
    const lease = admitted.cache && memory.open({ kind: "account", id: admitted.account });
    try {
      const served = admitted.cache && (await cache?.serve(admitted, lease));
      const ask = () =>
        failover.run(admitted, signal, async (attempt) => {
          const { provider, totalMs, hasOther } = attempt;
          const body = admitted.bodyFor(provider);
          const { firstTokenMs, silenceMs } = settings;
          const firstByteMs = hasOther ? Math.min(totalMs, this.#wholeAnswerMs(given.answerTokens)) : totalMs;
          const options = { ...given, totalMs, firstByteMs, silenceMs: 0, hasher: admitted.hasher };
          const answer = await gatherAnswer(
            (listener) => providers.post(provider, pathAt(provider, path), body, listener, options),
            {
              signal,
              maxBytes: given.maxBytes,
              firstTokenMs: hasOther ? firstTokenMs : undefined,
              silenceMs,
              memory,
              onHead: () => attempt.firstByte(),
            },
          );
          const reading = await readAs(() => given.read(answer, provider));
          if ("outputTokens" in reading.usage) attempt.answered(reading.usage.outputTokens);
          return { answer, reading };
        });
      const repeated = served && (await ifReadable(admitted, cache, readServed(served, given.read)));
      const { answer, reading } = repeated ?? (await ask());
      const { responseKey } = answer;
      const { usage, estimated, imageHashes, finishReason } = reading;
      const closing = memoizeLast((bill: Trace) => show(answer, reading, bill, admitted.shownCost(bill)));
      const bill = await billing.settle(admitted, {
        outcome: "completed",
        ...{ usage, estimated, imageHashes, closing, finishReason, isUndelivered: true },
        answerId: responseKey ?? reading.answerId,
      });
      const trace = marked(bill, admitted.unproven(bill));
      if (admitted.cache) await cache?.keep(admitted, answer);
      return { body: await closing(trace), responseKey, trace, cache: admitted.cacheUse };
    } catch (error) {
      await this.release(admitted, error, signal.aborted);
      throw error;
    } finally {
      lease?.release();
    }
  }

  /**
   * Posts an admitted request to the endpoint `path` and relays its events into `sink`. Resolves when the answer has ended
   * and is billed. Rejects only before the first write; later failures are reported in the stream, unless another
   * provider resumes it. When the client disconnects, the provider is aborted and the delivered part is billed.
   */
  async stream(
    admitted: Admitted,
    path: EndpointPath,
    given: PostOptions &
      Pick<StreamOptions, "sink" | "newReader" | "countInput"> & {
        /** Converts a rejection that we caused, not the client, to a `ProviderFailure`. */
        ourFault?(refusal: AppError, provider: Provider): ProviderFailure | undefined;
      },
  ): Promise<void> {
    const { failover, providers, billing, memory, settings, cache } = this.#dependencies;
    const { firstTokenMs, silenceMs, stallMs, resumesStreams: resumes } = settings;
    const relay = new StreamRelay({
      ...{ ...given, admitted, billing, firstTokenMs, silenceMs, stallMs, resumes },
      turns: this.#turns,
    });
    admitted.markStreamed();
    this.#streams.add(relay);
    const lease = admitted.cache && memory.open({ kind: "account", id: admitted.account });
    let recorder: AnswerRecorder | undefined;
    const run = async (attempt: AttemptOptions) => {
      const { provider, totalMs } = attempt;
      try {
        await relay.run(attempt, (listener) => {
          const body = admitted.bodyFor(provider);
          // An answer that continues that of another provider is not one that can be repeated.
          recorder =
            admitted.cache && !admitted.isDelivered ? new AnswerRecorder(listener, lease) : undefined;
          return providers.post(provider, pathAt(provider, path), body, recorder ?? listener, {
            ...given,
            totalMs,
            silenceMs: 0,
            hasher: admitted.hasher,
          });
        });
      } catch (error) {
        throw (error instanceof AppError && given.ourFault?.(error, provider)) || error;
      }
    };
    const ends = { mayFailOver: () => relay.mayFailOver, stop: relay.stopped };
    try {
      const served = admitted.cache && (await cache?.serve(admitted, lease));
      const replay = (by: Served) =>
        relay.run(attemptFor(by, admitted), async (to) => replayExchange(by.cached, to)).then(() => true);
      const isOpen = () => !relay.isBegun && !relay.isSettled;
      const isReplayed = served && (await ifReadable(admitted, cache, replay(served), isOpen));
      if (!isReplayed) await failover.run(admitted, relay.clientGone, run, ends);
      const recorded = recorder?.answer;
      if (recorded) await cache?.keep(admitted, recorded);
    } catch (error) {
      if (relay.isSettled) throw error;
      if (relay.isBegun) await relay.breakOff(error);
      else await this.release(admitted, error, relay.clientGone.aborted);
      if (!relay.isBegun || !(error instanceof AppError)) throw error;
    } finally {
      this.#streams.delete(relay);
      lease?.release();
    }
  }

  /**
   * Releases the hold of a request that failed, or whose client disconnected, without a charge. Only a failure has an
   * error code: the attempt that a disconnect ends fails as well, which is not its provider's fault.
   */
  async release(admitted: Admitted, error: unknown, isAborted: boolean): Promise<void> {
    const errorCode = error instanceof AppError ? error.code : "internal_error";
    const { billing } = await this.#dependencies.billing.settle(
      admitted,
      isAborted ? { outcome: "aborted" } : { outcome: "failed", errorCode },
    );
    if (error instanceof AppError) error.isUncharged = billing.total_cost === "0";
  }

  /** The number of requests that run now. */
  get running(): number {
    return this.#running.size;
  }

  /** Makes `drain` wait for a request, including its admission. */
  track<T>(request: Promise<T>): Promise<T> {
    return this.#running.add(request);
  }

  /** Ends the streams in progress: each reports the failure to its client, and is billed for what was delivered. */
  async endStreams(failure: AppError): Promise<void> {
    await forEachInTurns([...this.#streams], (stream) => stream.stop(failure));
  }

  /** Waits until every running request is billed. */
  async drain(): Promise<void> {
    await this.#running.settled();
  }

  /** Deadline of a whole answer while another provider can be tried: answers with more tokens get more time. */
  #wholeAnswerMs(tokens = 0): number {
    return this.#dependencies.settings.firstByteMs + tokens * MS_PER_TOKEN;
  }
}

function pathAt(provider: Provider, path: EndpointPath): `/${string}` {
  return typeof path === "string" ? path : path(provider);
}

/** The bill of an answer that is delivered without the required proof. */
export function marked(trace: Trace, failure: AppError | undefined): Trace {
  if (!failure) return trace;
  const { code, message } = failure;
  return { ...trace, error: { code, type: FAILURES[code].type, message } };
}
