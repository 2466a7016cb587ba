import { randomUUID } from "node:crypto";
import { toDigits } from "../../client-files/file-id.ts";
import type { WaitingClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { EndReason } from "./batch.ts";
import { readLine } from "./batch-input.ts";
import type { OpenLine } from "./batch-lines.store.ts";
import { failedResponse, responseLine, unsentLine } from "./batch-output.ts";
import { BatchStopped, type LineLedger, LineLost, type RunningBatch } from "./line-ledger.ts";
import type { LineRequestsService } from "./line-requests.service.ts";

type Dependencies = {
  readonly ledger: LineLedger;
  readonly requests: Pick<LineRequestsService, "run">;
  readonly batch: RunningBatch;
  readonly clock: WaitingClock;
  readonly log: Logger;
  /** Ends the batch: no more lines are sent. */
  stop(reason: EndReason): Promise<void>;
  /** The batch was stopped elsewhere: no more lines are sent. */
  stopped(): Promise<void>;
};

/**
 * How the request of a line failed, whether it may have reached a provider, and whether the money that it lacked may
 * come back from other lines.
 */
type LineFailure = { readonly error: AppError; readonly wasSent: boolean; readonly isContested?: boolean };

/** How often a line is sent: a second time after its worker died, or its providers failed. */
const MAX_SENT = 2;
const MAX_RETRIES = 5;
const FIRST_PAUSE_MS = 500;
const MONEY_PAUSE_MS = 250;

const MONEY: ReadonlySet<string> = new Set(["insufficient_balance", "credit_limit_exceeded"]);
const KEY_ENDED: ReadonlySet<string> = new Set(["api_key_revoked", "api_key_expired"]);
/** Failures after which the same request may succeed. */
const PASSING: ReadonlySet<string> = new Set([
  "provider_error",
  "no_available_provider",
  "rate_limit_exceeded",
  "overloaded",
  "unavailable",
]);

/** Runs lines of one batch: each ends with an answer in the output file, or a failure in the error file. */
export class LineRun {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Sends the request of a line until it is answered or fails for good. A line that is interrupted, or whose key or
   * batch has ended, is left as it is. Throws what is not a failure of the request.
   */
  async run(line: OpenLine, bytes: Buffer): Promise<void> {
    const { batch, clock, stop, stopped } = this.#dependencies;
    const { signal } = batch.lease;
    const { customId, body } = readLine(bytes, batch.endpoint);
    let sent = line.attempts;
    for (let retries = 0; !signal.aborted; ) {
      if (sent >= MAX_SENT) return this.#fail(line.n, customId, abandoned());
      const requestId = `batch_req_${randomUUID().replaceAll("-", "")}`;
      const failure = await this.#send(requestId, { n: line.n, customId, body });
      if (failure === undefined || signal.aborted) return;
      if (failure === "stopped") return stopped();
      const { error, wasSent, isContested } = failure;
      if (wasSent) sent++;
      if (KEY_ENDED.has(error.code))
        return stop({ status: "failed", code: error.code, message: `${error.message} The batch ended.` });
      if (isContested) {
        // What the other lines do not need comes back when they end.
        await clock.sleep(MONEY_PAUSE_MS, signal);
        continue;
      }
      const mayRetry = PASSING.has(error.code) && retries < MAX_RETRIES && sent < MAX_SENT;
      if (!mayRetry) return this.#fail(line.n, customId, error, requestId);
      const pauseMs = error.retryAfterSeconds
        ? error.retryAfterSeconds * 1_000
        : FIRST_PAUSE_MS * 2 ** retries;
      retries++;
      await clock.sleep(Math.min(pauseMs, 30_000), signal);
    }
  }

  /** Sends a request. Resolves with its failure, or `stopped` if the batch had been stopped before. */
  async #send(
    requestId: string,
    line: { readonly n: number; readonly customId: string; readonly body: Buffer },
  ): Promise<LineFailure | "stopped" | undefined> {
    const { ledger, requests, batch, log } = this.#dependencies;
    const { account, keyId, endpoint, lease } = batch;
    return ledger.track(requestId, { batch, ...line }, async () => {
      try {
        await requests.run(endpoint, line.body, { account, keyId, requestId }, lease.signal);
        return undefined;
      } catch (error) {
        if (lease.signal.aborted) return undefined;
        if (error instanceof BatchStopped) return "stopped";
        const wasSent = ledger.wasHeld(requestId);
        if (error instanceof AppError) {
          const isContested = MONEY.has(error.code) && (await ledger.isContested(requestId));
          return { error, wasSent, isContested };
        }
        if (error instanceof LineLost) return { error: abandoned(), wasSent };
        if (!wasSent) throw error;
        log.error({ err: error, requestId }, "the request of a line failed");
        return { error: new AppError("internal_error", "Something went wrong on our side."), wasSent };
      }
    });
  }

  async #fail(n: number, customId: string, error: AppError, requestId?: string): Promise<void> {
    const { ledger, batch } = this.#dependencies;
    const text =
      requestId === undefined
        ? unsentLine(`batch_req_${toDigits(batch.id)}_${n}`, customId, error)
        : responseLine(customId, failedResponse(error, requestId));
    await ledger.fail(batch, [{ n, text }]);
  }
}

/** The failure of a line that was sent twice without a known outcome. */
function abandoned(): AppError {
  return new AppError("provider_error", "The request was interrupted too often, and is not sent again.");
}
