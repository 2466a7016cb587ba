import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { rpcReason } from "../rpc/rpc-errors.ts";
import { HeadFeed } from "./head-feed.ts";
import { LogScanner, type ScanOptions } from "./log-scanner.ts";
import {
  advances,
  recordState,
  toStatus,
  type WatcherState,
  type WatcherStatus,
} from "./log-watcher.store.ts";
import { PollTimer } from "./poll-timer.ts";
import type { Step } from "./scan-step.ts";

/** Options of a watcher. Its handlers share one cursor: handlers that must halt independently need own watchers. */
export type LogWatcherOptions = ScanOptions & {
  readonly log: Logger;
  /** How long to wait before another attempt, and the interval of `heads` if they are not given. */
  readonly pollMs?: number;
  /** Shared by the watchers of a process; this watcher's own by default. */
  readonly heads?: HeadFeed;
  /** How long an endpoint may lack blocks below its newest, or already read, before `rpc_behind`: backends differ. */
  readonly behindAfterMs?: number;
};

const POLL_MS = 2_000;
const MAX_PAUSE_MS = 10_000;
/** Longer than `HeadFeed` needs to learn that an endpoint does not answer. */
const MAX_IDLE_MS = 60_000;
const BEHIND_AFTER_MS = 10_000;

/**
 * Follows the logs of contracts and delivers each to its handler, in order and exactly once (promises P7). The cursor
 * and the handlers' writes commit in one transaction, so a crash loses and repeats nothing, and of several processes
 * with the same watcher name only one writes. A reorg rolls back to the last common block; a reorg that is deeper than
 * the stored blocks, or that would revert something final, halts the watcher. A halted watcher checks again every 10
 * s, and resumes if the old chain returns or an operator accepts the reorg.
 */
export class LogWatcher {
  readonly name: string;
  readonly #options: LogWatcherOptions;
  readonly #scanner: LogScanner;
  readonly #timer = new PollTimer();
  readonly #heads: HeadFeed;
  #status: WatcherStatus = toStatus("backfilling", undefined, undefined, 0);
  #loop: Promise<void> | undefined;
  #behindSinceMs: number | undefined;

  constructor(options: LogWatcherOptions) {
    this.name = options.name;
    this.#options = options;
    this.#scanner = new LogScanner(options, this.#timer);
    this.#heads = options.heads ?? new HeadFeed(options.rpc, options.pollMs ?? POLL_MS);
  }

  /** This watcher's progress and state; other processes use `readStatuses`. */
  status(): WatcherStatus {
    return this.#status;
  }

  /** Starts following the chain in the background, through outages, until `stop`. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Scans now instead of at the next poll. */
  poke(): void {
    this.#timer.wake();
  }

  /** Aborts a wait or an RPC call at once, and resolves when an open transaction has finished. */
  async stop(): Promise<void> {
    this.#timer.stop();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { rpc, pollMs = POLL_MS } = this.#options;
    let verified = false;
    let failures = 0;
    while (!this.#timer.stopped) {
      try {
        // Also after an outage: the endpoint may serve another chain now.
        if (!verified) await this.#timer.orStop(rpc.verifyChain());
        verified = true;
        const pause = await this.#recordStep(await this.#scanner.step());
        failures = 0;
        await this.#pause(pause);
      } catch (error) {
        if (this.#timer.stopped) return;
        verified = false;
        await this.#failed(error);
        await this.#timer.wait(Math.min(pollMs * 2 ** failures++, MAX_PAUSE_MS));
      }
    }
  }

  /** Throws if the chain could not be read meanwhile. */
  async #pause({ ms, known }: Pause): Promise<void> {
    if (ms === 0) return;
    let failure: unknown;
    const wake = (reason: unknown) => {
      failure = reason;
      this.#timer.wake();
    };
    const end = known === undefined ? undefined : this.#heads.wakeAfter(known, wake);
    await this.#timer.wait(ms);
    end?.();
    if (failure !== undefined) throw failure;
  }

  /** Records the outcome of a step, and returns how long to wait for the next one. */
  async #recordStep(step: Step): Promise<Pause> {
    const { pollMs = POLL_MS, log } = this.#options;
    if (step.kind !== "behind") this.#behindSinceMs = undefined;
    switch (step.kind) {
      case "moved":
        return { ms: pollMs };
      case "behind":
        await this.#lag(step.why);
        return { ms: pollMs };
      case "halted":
        await this.#enter("halted_deep_reorg", this.#stuckPlace(), step.why);
        return { ms: MAX_PAUSE_MS };
      case "reverted":
        log.warn({ watcher: this.name, depth: step.depth }, "a chain reorg was handled");
        await this.#enter(
          this.#scanner.stateAt(step.scanned, step.head),
          { scannedBlock: step.scanned, headBlock: step.head, lastReorgDepth: step.depth },
          this.#ageOfHead(),
        );
        return { ms: 0 };
      case "scanned":
      case "idle": {
        const { lastReorgDepth } = this.#status;
        const place = { scannedBlock: step.scanned, headBlock: step.head, lastReorgDepth };
        await this.#enter(this.#scanner.stateAt(step.scanned, step.head), place, this.#ageOfHead());
        const hasMore = step.kind === "scanned" && step.scanned !== step.head;
        return hasMore ? { ms: 0 } : { ms: MAX_IDLE_MS, known: step.headHash };
      }
    }
  }

  async #failed(error: unknown): Promise<void> {
    const { log } = this.#options;
    const isRpcFailure = error instanceof AppError && error.code === "chain_error";
    if (!isRpcFailure)
      log.error({ watcher: this.name, err: error }, "following the chain failed, and is retried");
    try {
      if (isRpcFailure)
        await this.#enter(this.#outage(), this.#stuckPlace(), `${error.message} ${rpcReason(error)}`);
      else await this.#enter("failing", this.#stuckPlace());
    } catch (cause) {
      log.error({ watcher: this.name, err: cause }, "the watcher's state could not be written");
    }
  }

  #outage(): WatcherState {
    const endpoints = this.#options.rpc.endpoints().map(({ state }) => state);
    return endpoints.includes("wrong_chain") && !endpoints.includes("ready")
      ? "rpc_wrong_chain"
      : "rpc_unavailable";
  }

  async #lag(why: string): Promise<void> {
    const { behindAfterMs = BEHIND_AFTER_MS } = this.#options;
    this.#behindSinceMs ??= performance.now();
    if (performance.now() - this.#behindSinceMs >= behindAfterMs)
      await this.#enter("rpc_behind", { ...this.#status, headBlock: this.#newestHead() }, why);
  }

  #ageOfHead(): string {
    return `its newest block is ${Math.round(this.#scanner.headAgeMs / 1_000)} s old`;
  }

  /** Where it stays while the chain goes on: its lag grows. */
  #stuckPlace(): Place {
    return { ...this.#status, headBlock: this.#scanner.head ?? this.#status.headBlock };
  }

  /** The newest block that any backend has shown: one that lags shows an older one. */
  #newestHead(): bigint | undefined {
    const [known, seen] = [this.#status.headBlock, this.#scanner.head];
    return known === undefined || (seen !== undefined && seen > known) ? seen : known;
  }

  async #enter(state: WatcherState, place: Place, why?: string): Promise<void> {
    const before = this.#status;
    const note = state === "halted_deep_reorg" ? why : undefined;
    this.#status = toStatus(state, place.scannedBlock, place.headBlock, place.lastReorgDepth, note);
    if (before.state !== state) this.#logState(state, why);
    // While it advances, its state and the head are stored with the cursor.
    const lagsMore = !advances(state) && before.headBlock !== place.headBlock;
    if (before.state !== state || lagsMore)
      await recordState(this.#options.database, this.name, this.#status);
  }

  #logState(state: WatcherState, why: string | undefined): void {
    const { log } = this.#options;
    const fields = { watcher: this.name, state, why };
    if (state === "halted_deep_reorg")
      log.fatal(
        fields,
        `HALTED: the chain that was read is gone. Nothing new is processed until it returns, or until you accept the reorg with npm run watcher:accept -- ${this.name}`,
      );
    else if (state === "rpc_unavailable") log.error(fields, "the chain's RPC is unavailable");
    else if (state === "rpc_wrong_chain") log.error(fields, "the chain's RPC serves another chain");
    else if (state === "rpc_behind") log.error(fields, "the chain's RPC lacks blocks");
    else if (state === "failing") log.error(fields, "a log handler failed");
    else log.info({ watcher: this.name, state }, "the watcher is following the chain");
  }
}

/** The wait before the next step: `ms` at most; it ends early when the newest block is not `known`, if that is set. */
type Pause = { readonly ms: number; readonly known?: Hex };
type Place = Pick<WatcherStatus, "scannedBlock" | "headBlock" | "lastReorgDepth">;
