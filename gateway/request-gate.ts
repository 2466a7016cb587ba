import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Slot } from "../src/kernel/slot.ts";

/** Requests of one connection that wait for the one before them; a client that pipelines more is disconnected. */
const MAX_PIPELINED = 64;
/** How long a turn of the event loop should take while something waits for the next. */
const MAX_TURN_MS = 8;
/** How long a run of new connections may delay waiting requests. */
const MAX_ACCEPTING_MS = 50;
/** The most that begin in one turn. */
const MAX_PER_TURN = 16;
/** Pipelined requests of all connections that wait; each keeps its head in memory. The connection of one more is closed. */
const MAX_WAITING = 5_000;
/** What waits for its turn, a request or a handshake of a connection each. */
const MAX_WAITING_TURNS = 5_000;

type Waiting = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** Of a connection: whether a request of it is worked on, and those that wait for it. */
type Pipeline = { isBusy: boolean; readonly waiting: Waiting[] };

/**
 * Spreads what arrives at once over turns of the event loop. How many begin in a turn follows from how long turns take:
 * sixteen chats that begin together are admitted in one batch, while costly requests begin one by one, so that health
 * checks and answers under way come in between. Connections come first: libuv accepts one per turn, so the last of 300
 * clients that connect at once would otherwise wait for 300 turns of work.
 */
export class Turns {
  readonly #maxPerTurn: number;
  readonly #waiting: (() => void)[] = [];
  #perTurn: number;
  #begun = 0;
  #startedMs = 0;
  #isOpen = false;
  #hasAccepted = false;
  #acceptingSinceMs: number | undefined;

  constructor(maxPerTurn = MAX_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
    this.#perTurn = maxPerTurn;
  }

  /** Runs now or in a later turn, in order. False when too many wait already: then it does not run. */
  take(run: () => void): boolean {
    if (!this.mayBegin()) return this.wait(run);
    run();
    return true;
  }

  /** Whether something may begin at once, which is counted as begun then. */
  mayBegin(): boolean {
    this.#open();
    if (this.#hasAccepted || this.#begun >= this.#perTurn || this.#waiting.length > 0) return false;
    this.#begun += 1;
    return true;
  }

  /** Runs in a later turn what may not begin now. False when too many wait already. */
  wait(run: () => void): boolean {
    if (this.#waiting.length >= MAX_WAITING_TURNS) return false;
    this.#waiting.push(run);
    return true;
  }

  /** Notes a new connection: no request begins while connections keep coming, for at most `MAX_ACCEPTING_MS`. */
  accepted(): void {
    this.#open();
    this.#hasAccepted = true;
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#startedMs = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** An immediate does not let the event loop wait for anything, so the turn took as long as what it did. */
  #endTurn(): void {
    const nowMs = performance.now();
    this.#isOpen = false;
    this.#begun = 0;
    if (this.#isAccepting(nowMs)) {
      this.#open();
      this.#begun = this.#perTurn;
      return;
    }
    const isLate = nowMs - this.#startedMs > MAX_TURN_MS;
    this.#perTurn = isLate ? Math.ceil(this.#perTurn / 4) : Math.min(this.#maxPerTurn, this.#perTurn * 2);
    if (this.#waiting.length === 0) return;
    this.#open();
    const next = this.#waiting.splice(0, this.#perTurn);
    this.#begun = next.length;
    for (const run of next) run();
  }

  #isAccepting(nowMs: number): boolean {
    const sinceMs = this.#hasAccepted ? (this.#acceptingSinceMs ?? nowMs) : undefined;
    const isAccepting = sinceMs !== undefined && nowMs - sinceMs < MAX_ACCEPTING_MS;
    this.#acceptingSinceMs = isAccepting ? sinceMs : undefined;
    this.#hasAccepted = false;
    return isAccepting;
  }
}

/**
 * Stands before the whole server and decides when a request begins. Of one connection one request is worked on at a
 * time, so that a client that pipelines holds one answer and not all of them; and requests take turns, so that other
 * events are handled in between. `isUrgent` requests, such as health checks, do not wait for a turn.
 */
export class RequestGate {
  readonly #begin: RequestListener;
  readonly #isUrgent: (request: IncomingMessage) => boolean;
  readonly #turns: Turns;
  readonly #pipelines = new Slot<Socket, Pipeline>();
  #waiting = 0;

  constructor(begin: RequestListener, isUrgent: (request: IncomingMessage) => boolean, turns: Turns) {
    this.#begin = begin;
    this.#isUrgent = isUrgent;
    this.#turns = turns;
  }

  /** Takes a request as it arrived. It begins now or later, or its connection is closed. */
  enter(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (socket.destroyed) return;
    const pipeline = this.#pipelineOf(socket);
    if (!pipeline.isBusy) this.#admit({ request, response }, pipeline);
    else if (pipeline.waiting.length < MAX_PIPELINED && this.#waiting < MAX_WAITING) {
      this.#waiting += 1;
      pipeline.waiting.push({ request, response });
    } else socket.destroy();
  }

  #pipelineOf(socket: Socket): Pipeline {
    const known = this.#pipelines.get(socket);
    if (known) return known;
    const pipeline = { isBusy: false, waiting: [] };
    this.#pipelines.set(socket, pipeline);
    return pipeline;
  }

  #admit({ request, response }: Waiting, pipeline: Pipeline): void {
    const { socket } = request;
    pipeline.isBusy = true;
    response.once("close", () => this.#ended(socket, pipeline));
    const begin = () => {
      if (!socket.destroyed) this.#begin(request, response);
    };
    if (this.#isUrgent(request) || this.#turns.mayBegin()) begin();
    else if (!this.#turns.wait(begin)) socket.destroy();
  }

  #ended(socket: Socket, pipeline: Pipeline): void {
    pipeline.isBusy = false;
    if (socket.destroyed) {
      this.#waiting -= pipeline.waiting.length;
      pipeline.waiting.length = 0;
    }
    const next = pipeline.waiting.shift();
    if (!next) return;
    this.#waiting -= 1;
    this.#admit(next, pipeline);
  }
}
