import type { WaitingClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Admitted } from "../billing/admitted.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import type { HealthService, Trial } from "../providers/health/health.service.ts";
import type { Provider } from "../providers/provider.ts";
import { keepContinuing, keepLarger, pauseAfter, restEndMs, takeNext } from "../routing/retry-plan.ts";
import type { AttemptOptions } from "./attempt.ts";
import { allProvidersFailed, failureOfAttempt } from "./attempt-failures.ts";

type Dependencies = {
  readonly health: HealthService;
  readonly clock: WaitingClock;
  readonly log: Logger;
  /** Maximum number of attempts of one request, over all providers. */
  readonly tries: number;
  /** Deadline of all attempts together, milliseconds. */
  readonly totalMs: number;
};

/**
 * Tries the candidates of a request, one after the other, until one answers: at most `tries` times, within one
 * deadline, under one hold and for one charge (promises F32). When every candidate has been tried, one with a transient
 * failure is retried, after the delay it requested or an exponential backoff with jitter.
 */
export class FailoverService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Calls `attempt` for one candidate after the other until it resolves. Throws a failure caused by the client
   * immediately, and the last provider's failure when no candidate is left or `mayFailOver` returns false. Once `stop`
   * aborts, throws its reason in place of another attempt.
   */
  async run<T>(
    admitted: Admitted,
    signal: AbortSignal,
    attempt: (options: AttemptOptions) => Promise<T>,
    { mayFailOver = () => true, stop }: { mayFailOver?(): boolean; readonly stop?: AbortSignal } = {},
  ): Promise<T> {
    const { clock, health, tries, totalMs } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    const untilMs = startedMs + totalMs;
    const queue = admitted.candidates.map((provider) => ({
      provider,
      notBeforeMs: restEndMs(health.of(provider), startedMs),
      failures: 0,
    }));
    const isShut = (provider: Provider) => health.of(provider).circuit === "open";
    let last: AppError | undefined;
    for (let n = 0; n < tries; n++) {
      const next = takeNext(queue, isShut);
      if (!next) break;
      const nowMs = clock.monotonicMs();
      if (Math.max(next.notBeforeMs, nowMs) >= untilMs) break;
      const waitMs = next.notBeforeMs - nowMs;
      if (waitMs > 0) await clock.sleep(waitMs, stop ? AbortSignal.any([signal, stop]) : signal);
      if (signal.aborted) throw new AppError("provider_error", "The client disconnected.");
      stop?.throwIfAborted();
      const { provider } = next;
      const hasOther =
        queue.some((other) => other.failures === 0 && !isShut(other.provider)) && n + 1 < tries;
      const leftMs = Math.max(1, Math.ceil(untilMs - (waitMs > 0 ? clock.monotonicMs() : nowMs)));
      try {
        return await this.#attempt(admitted, signal, { provider, hasOther, totalMs: leftMs }, attempt);
      } catch (error) {
        if (!(error instanceof AppError) || signal.aborted) throw error;
        last = error;
        if (admitted.isDelivered) keepContinuing(queue, provider.model, admitted.request.continues);
        if (last.code === "context_length_exceeded" && mayFailOver() && keepLarger(queue, provider)) continue;
        if (!(last instanceof ProviderFailure)) throw last;
        this.#logFailure(admitted, provider, last);
        if (last.kind === "differs" || !mayFailOver()) throw last;
        const pauseMs = pauseAfter(last, next.failures);
        if (pauseMs !== undefined)
          queue.push({ provider, notBeforeMs: clock.monotonicMs() + pauseMs, failures: next.failures + 1 });
      }
    }
    throw allProvidersFailed(last);
  }

  /** Runs one attempt and records its outcome. Throws the failure of the attempt. */
  async #attempt<T>(
    admitted: Admitted,
    signal: AbortSignal,
    options: Omit<AttemptOptions, "firstByte" | "answered">,
    attempt: (options: AttemptOptions) => Promise<T>,
  ): Promise<T> {
    const trial = this.#dependencies.health.begin(options.provider);
    admitted.beginAttempt(options.provider);
    const firstByte = () => {
      admitted.markFirstByte();
      trial.firstByte();
    };
    try {
      const result = await attempt({ ...options, firstByte, answered: trial.answered });
      trial.succeed();
      admitted.endAttempt("answered");
      return result;
    } catch (error) {
      if (!(error instanceof AppError)) {
        // Not caused by the provider: trying another one would not help, or might bill twice.
        trial.drop();
        throw error;
      }
      const failure = failureOfAttempt(error);
      if (signal.aborted) {
        trial.drop();
        admitted.endAttempt("aborted");
      } else {
        recordOutcome(trial, failure);
        admitted.endAttempt("failed", failure);
      }
      throw failure;
    }
  }

  #logFailure({ requestId }: Admitted, { address }: Provider, failure: ProviderFailure): void {
    this.#dependencies.log.warn(
      {
        requestId,
        provider: address,
        errorCode: failure.code,
        reason: failure.kind,
        cause: String(failure.cause ?? failure.message),
      },
      "a provider failed",
    );
  }
}

function recordOutcome(trial: Trial, failure: AppError): void {
  if (failure instanceof ProviderFailure) trial.fail(failure);
  // The provider answered: an error in the request does not count against it.
  else trial.succeed();
}
