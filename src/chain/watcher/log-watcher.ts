import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { rpcReason } from "../rpc/rpc-endpoint.ts";
import { LogScanner, type ScanOptions, type Step } from "./log-scanner.ts";
import { recordState, toStatus, type WatcherState, type WatcherStatus } from "./log-watcher.store.ts";
import { PollTimer } from "./poll-timer.ts";

/** What a watcher needs. Its handlers share one cursor and so one fate: what may halt apart gets its own watcher. */
export type LogWatcherOptions = ScanOptions & {
  readonly log: Logger;
  readonly pollMs?: number;
  /** How long the endpoint may lack blocks that were read already before that is said: several of one name differ. */
  readonly behindAfterMs?: number;
};

const MAX_PAUSE_MS = 10_000;
const BEHIND_AFTER_MS = 10_000;

/**
 * Follows the logs of contracts and hands each to its handler, in order and exactly once (promises P7). The cursor and
 * what the handlers write move in one transaction, so a crash loses and repeats nothing, and of several processes that
 * watch under one name only one writes. On a reorganisation it walks back to the last common block; one that is deeper
 * than what is remembered, or that would take back what is final, halts it. It then looks again every 10 s, and goes on
 * should the old chain return, or an operator accept that it is gone.
 */
export class LogWatcher {
  readonly name: string;
  readonly #options: LogWatcherOptions;
  readonly #scanner: LogScanner;
  readonly #pulse = new PollTimer();
  #status: WatcherStatus = toStatus("backfilling", undefined, undefined, 0);
  #loop: Promise<void> | undefined;
  #behindSinceMs: number | undefined;

  constructor(options: LogWatcherOptions) {
    this.name = options.name;
    this.#options = options;
    this.#scanner = new LogScanner(options, this.#pulse);
  }

  /** How far this watcher is and how it fares; in other processes, `readStatuses` says. */
  status(): WatcherStatus {
    return this.#status;
  }

  /** Begins to follow the chain, in the background. It goes on through outages until `stop`. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Scans now instead of at the next poll. */
  poke(): void {
    this.#pulse.wake();
  }

  /** Ends a wait or a call to the chain at once, lets an open transaction finish, and resolves then. */
  async stop(): Promise<void> {
    this.#pulse.stop();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { rpc, pollMs = 2_000 } = this.#options;
    let verified = false;
    let failures = 0;
    while (!this.#pulse.stopped) {
      try {
        // Also after an outage: what answers again need not be what answered before.
        if (!verified) await this.#pulse.orStop(rpc.verifyChain());
        verified = true;
        const pause = await this.#take(await this.#scanner.step());
        failures = 0;
        if (pause > 0) await this.#pulse.wait(pause);
      } catch (error) {
        if (this.#pulse.stopped) return;
        verified = false;
        await this.#failed(error);
        await this.#pulse.wait(Math.min(pollMs * 2 ** failures++, MAX_PAUSE_MS));
      }
    }
  }

  /** Notes what a step came to, and answers how long to wait for the next one, in ms. */
  async #take(step: Step): Promise<number> {
    const { pollMs = 2_000, log } = this.#options;
    if (step.kind !== "behind") this.#behindSinceMs = undefined;
    switch (step.kind) {
      case "moved":
        return pollMs;
      case "behind":
        await this.#lag(step.by);
        return pollMs;
      case "halted":
        await this.#enter("halted_deep_reorg", this.#status, step.why);
        return MAX_PAUSE_MS;
      case "reverted":
        log.warn({ watcher: this.name, depth: step.depth }, "the chain was reorganised");
        await this.#enter(this.#status.state, {
          scannedBlock: step.scanned,
          headBlock: step.head,
          lastReorgDepth: step.depth,
        });
        return 0;
      case "scanned":
      case "idle": {
        const near = step.head - (step.scanned ?? step.head) < this.#scanner.nearBlocks;
        const { lastReorgDepth } = this.#status;
        const place = { scannedBlock: step.scanned, headBlock: step.head, lastReorgDepth };
        await this.#enter(near ? "following" : "backfilling", place);
        return step.kind === "scanned" && step.scanned !== step.head ? 0 : pollMs;
      }
    }
  }

  async #failed(error: unknown): Promise<void> {
    const { log } = this.#options;
    const ofChain = error instanceof AppError && error.code === "chain_error";
    if (!ofChain)
      log.error({ watcher: this.name, err: error }, "following the chain failed, and is tried again");
    try {
      if (ofChain) await this.#enter(this.#outage(), this.#status, `${error.message} ${rpcReason(error)}`);
      else await this.#enter("failing", this.#status);
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

  async #lag(by: bigint): Promise<void> {
    const { behindAfterMs = BEHIND_AFTER_MS } = this.#options;
    this.#behindSinceMs ??= performance.now();
    if (performance.now() - this.#behindSinceMs >= behindAfterMs)
      await this.#enter("rpc_behind", this.#status, `it is ${by} blocks behind what was read`);
  }

  async #enter(state: WatcherState, place: Place, why?: string): Promise<void> {
    const before = this.#status;
    const note = state === "halted_deep_reorg" ? why : undefined;
    this.#status = toStatus(state, place.scannedBlock, place.headBlock, place.lastReorgDepth, note);
    if (before.state !== state) this.#say(state, why);
    if (before.state !== state || before.lastReorgDepth !== place.lastReorgDepth)
      await recordState(this.#options.database, this.name, this.#status);
  }

  #say(state: WatcherState, why: string | undefined): void {
    const { log } = this.#options;
    const line = { watcher: this.name, state, why };
    if (state === "halted_deep_reorg")
      log.fatal(
        line,
        `HALTED: the chain that was read is gone, and nothing new is taken in until it is back, or accepted as gone by npm run watcher:accept -- ${this.name}`,
      );
    else if (state === "rpc_unavailable") log.error(line, "the chain's RPC is unavailable");
    else if (state === "rpc_wrong_chain") log.error(line, "the chain's RPC is of another chain");
    else if (state === "rpc_behind") log.error(line, "the chain's RPC has lost its newest blocks");
    else if (state === "failing") log.error(line, "what the chain tells cannot be taken in");
    else log.info(line, "the chain is followed");
  }
}

type Place = Pick<WatcherStatus, "scannedBlock" | "headBlock" | "lastReorgDepth">;
