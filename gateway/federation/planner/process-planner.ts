import type { Logger } from "../../../src/kernel/log.ts";
import type { Overrides, Planner, QueryPlan } from "../engine/planner.ts";
import { type PlanJob, PlanQueue } from "./plan-queue.ts";
import type { PlannerReply } from "./planner-child.ts";
import { plannerBusy, plannerUnavailable, planRefused } from "./planner-errors.ts";
import { type PlannerExit, PlannerProcess } from "./planner-process.ts";
import { type RefusalReason, RefusedOperations } from "./refused-operations.ts";
import { RestartBackoff } from "./restart-backoff.ts";

/** Counts the events of the planner process and the outcomes of its operations. */
export type PlannerObserver = {
  plannerRestarted(): void;
  planRefused(reason: RefusalReason | "remembered" | "busy" | "unavailable"): void;
};

/** Limits of the planner process: milliseconds, bytes, characters and counts. */
export const PLANNER_LIMITS = {
  /** For one plan. Most take 1 ms. */
  planMs: 2_000,
  /** From the start of the process until it has loaded the supergraph: 0.1 s on a quiet machine. */
  startMs: 30_000,
  /** The longest that an operation may wait for its turn. */
  waitMs: 10_000,
  /** Operations that the process may have at once, so that it can go on planning while this process is busy. */
  pipelined: 8,
  queued: 256,
  queuedCharacters: 4_194_304,
  /** For the JSON of one plan, as parsing and compiling it blocks the event loop. */
  planBytes: 262_144,
  /** Resident memory above which an idle process is replaced. It starts at 75 MiB. */
  rssBytes: 402_653_184,
  backoff: { firstMs: 100, maxMs: 5_000, stableMs: 30_000 },
} as const;

type PlannerLimits = Omit<{ readonly [Name in keyof typeof PLANNER_LIMITS]: number }, "backoff">;

/** The dependencies of a planner. */
export type ProcessPlannerOptions = {
  readonly supergraphSdl: string;
  readonly log: Logger;
  readonly observer?: PlannerObserver | undefined;
  readonly limits?: Partial<PlannerLimits>;
};

/** A running process, and the reason why it was killed from here. */
type Child = {
  readonly process: PlannerProcess;
  readonly sinceMs: number;
  isReady: boolean;
  ending?: "deadline" | "memory";
};

/** Signals of a process that crashed by itself. Others come from outside, such as SIGKILL when memory is short. */
const CRASHES: ReadonlySet<NodeJS.Signals | null> = new Set([
  "SIGABRT",
  "SIGSEGV",
  "SIGBUS",
  "SIGILL",
  "SIGFPE",
  "SIGTRAP",
]);

/**
 * Plans in a child process, which answers in order: so the first operation without an answer when the process dies is
 * the one that crashed it. That operation is refused and remembered; the others are planned by the next process.
 * `start` starts the process; otherwise the first operation does.
 */
export class ProcessPlanner implements Planner {
  readonly #options: ProcessPlannerOptions;
  readonly #limits: PlannerLimits;
  readonly #refused = new RefusedOperations();
  readonly #backoff = new RestartBackoff(PLANNER_LIMITS.backoff);
  readonly #queue: PlanQueue;
  #child: Child | undefined;
  /** What the process has been sent, in order; the first is in progress. */
  #sent: PlanJob[] = [];
  /** For the start of the process, or for the current plan. */
  #deadline: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: ProcessPlannerOptions) {
    this.#options = options;
    this.#limits = { ...PLANNER_LIMITS, ...options.limits };
    const { queued: maxJobs, queuedCharacters: maxCharacters, waitMs } = this.#limits;
    this.#queue = new PlanQueue({ maxJobs, maxCharacters, waitMs }, (job) => job.reject(this.#unavailable()));
  }

  /** The pid of the process; undefined while none is running. */
  get pid(): number | undefined {
    return this.#child?.process.pid;
  }

  /** Starts the process in advance, so that the first operation does not wait for it. */
  start(): void {
    if (!this.#isClosed && !this.#child && !this.#restart) this.#launch();
  }

  /** Throws a GraphQLError when the operation is refused, or when it cannot be planned now. */
  async plan(operationText: string, operationName: string | null, overrides: Overrides): Promise<QueryPlan> {
    const known = this.#refused.reasonOf(operationText, operationName);
    if (known) {
      this.#options.observer?.planRefused("remembered");
      throw planRefused(known);
    }
    if (this.#isClosed) throw this.#unavailable();
    if (!this.#queue.hasRoomFor(operationText.length)) {
      this.#options.observer?.planRefused("busy");
      throw plannerBusy();
    }
    return new Promise((resolve, reject) => {
      this.#queue.add({
        operationText,
        operationName,
        overrides,
        resolve,
        reject,
        isRetried: false,
        isLate: false,
      });
      this.start();
      this.#next();
    });
  }

  /** Ends the process. Waiting and later operations are refused as unavailable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#restart);
    this.#child?.process.kill();
    for (let job = this.#queue.take(); job; job = this.#queue.take()) this.#refuseClosed(job);
    await this.#ended;
  }

  #launch(): void {
    const { supergraphSdl } = this.#options;
    const load = { kind: "load", supergraphSdl, maxPlanBytes: this.#limits.planBytes } as const;
    const { promise, resolve } = Promise.withResolvers<void>();
    const child: Child = {
      process: new PlannerProcess(load, {
        onReply: (reply) => this.#receive(child, reply),
        onExit: (exit) => {
          this.#exited(child, exit);
          resolve();
        },
      }),
      sinceMs: performance.now(),
      isReady: false,
    };
    this.#child = child;
    this.#ended = promise;
    this.#expireAfter(this.#limits.startMs, child);
  }

  /** Sends operations of the queue to the process, as many as it may have. */
  #next(): void {
    const child = this.#child;
    if (!child?.isReady) return;
    while (this.#sent.length < this.#limits.pipelined) {
      const job = this.#queue.take();
      if (!job) return;
      const { operationText, operationName, overrides } = job;
      const { labels, percentage } = overrides;
      child.process.send({ kind: "plan", operationText, operationName, labels: [...labels], percentage });
      this.#sent.push(job);
      if (this.#sent.length === 1) this.#begin(job, child);
    }
  }

  #begin(job: PlanJob, child: Child): void {
    this.#queue.endWait(job);
    this.#expireAfter(this.#limits.planMs, child);
  }

  #receive(child: Child, reply: PlannerReply): void {
    if (child.ending) return;
    this.#clearDeadline();
    if (reply.kind === "ready") child.isReady = true;
    else this.#settle(reply);
    const [next] = this.#sent;
    if (reply.kind === "planned" && (reply.rssBytes ?? 0) > this.#limits.rssBytes) this.#end(child, "memory");
    else if (next) this.#begin(next, child);
    this.#next();
  }

  #settle(reply: Exclude<PlannerReply, { kind: "ready" }>): void {
    const job = this.#sent.shift();
    if (!job) return;
    if (reply.kind === "planned") {
      job.resolve(reply.plan);
      return;
    }
    this.#reject(job, reply.kind);
    this.#options.log.error({ ...reply, operation: job.operationName }, "an operation was not planned");
  }

  #exited({ ending, sinceMs }: Child, { code, signal, stderr }: PlannerExit): void {
    this.#clearDeadline();
    this.#child = undefined;
    const sent = this.#sent;
    this.#sent = [];
    if (this.#isClosed) {
      for (const one of sent) this.#refuseClosed(one);
      return;
    }
    // If this side ended the process, the operation in progress is not the cause.
    const job = ending ? undefined : sent.shift();
    if (job && (code !== null || CRASHES.has(signal) || job.isRetried)) this.#reject(job, "crashed");
    else if (job) sent.unshift(Object.assign(job, { isRetried: true }));
    this.#queue.putBack(sent);
    const operation = job?.operationName ?? "anonymous";
    const facts = {
      code,
      signal,
      ...(stderr && { stderr }),
      ...(ending && { ending }),
      ...(job && { operation }),
    };
    this.#options.log.error(facts, "the query planner exited and is being restarted");
    this.#restart = setTimeout(
      () => {
        this.#restart = undefined;
        this.#options.observer?.plannerRestarted();
        this.#launch();
      },
      this.#backoff.next(performance.now() - sinceMs),
    ).unref();
  }

  /** Kills a process that has not replied by the deadline, and refuses the operation it was planning. */
  #expireAfter(afterMs: number, child: Child): void {
    this.#clearDeadline();
    const timer = setTimeout(() => {
      // A reply that arrived while this process was busy is read first.
      setImmediate(() => {
        if (this.#deadline !== timer) return;
        const job = this.#sent.shift();
        if (job) this.#reject(job, "deadline");
        this.#end(child, "deadline");
      });
    }, afterMs);
    if (this.#sent.length === 0) timer.unref();
    this.#deadline = timer;
  }

  #clearDeadline(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  #end(child: Child, ending: "deadline" | "memory"): void {
    child.ending = ending;
    child.isReady = false;
    child.process.kill();
  }

  #reject(job: PlanJob, reason: RefusalReason): void {
    this.#refused.add(job.operationText, job.operationName, reason);
    this.#options.observer?.planRefused(reason);
    job.reject(planRefused(reason));
  }

  #refuseClosed(job: PlanJob): void {
    this.#queue.endWait(job);
    job.reject(this.#unavailable());
  }

  #unavailable(): Error {
    this.#options.observer?.planRefused("unavailable");
    return plannerUnavailable();
  }
}
