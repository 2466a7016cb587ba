import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait for the one before them; a client that pipelines more is disconnected. */
const MAX_PIPELINED = 64;
/** How long a turn of the event loop should take while something waits for the next. */
const MAX_TURN_MS = 8;
/** The most that begin in one turn. */
const MAX_PER_TURN = 16;
/** Pipelined requests of all connections that wait; each keeps its head in memory. The connection of one more is closed. */
const MAX_WAITING = 5_000;
/** What waits for its turn, a request or a handshake of a connection each. */
const MAX_WAITING_TURNS = 5_000;

type Waiting = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** Of a connection: whether a request of it is worked on, and those that wait for it. */
type Pipeline = { isBusy: boolean; readonly waiting: Waiting[] };
const PIPELINE = Symbol("pipeline");
type GatedSocket = Socket & { [PIPELINE]?: Pipeline };

/**
 * Spreads what arrives at once over turns of the event loop. How many begin in a turn follows from how long turns take:
 * sixteen chats that begin together are admitted in one batch, while costly requests begin one by one, so that health
 * checks and answers under way come in between.
 */
export class Turns {
  readonly #maxPerTurn: number;
  readonly #waiting: (() => void)[] = [];
  #perTurn: number;
  #begun = 0;
  #startedMs = 0;

  constructor(maxPerTurn = MAX_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
    this.#perTurn = maxPerTurn;
  }

  /** Runs now or in a later turn, in order. False when too many wait already: then it does not run. */
  take(run: () => void): boolean {
    if (this.#begun === 0) this.#startTurn();
    if (this.#begun < this.#perTurn && this.#waiting.length === 0) {
      this.#begun += 1;
      run();
      return true;
    }
    if (this.#waiting.length >= MAX_WAITING_TURNS) return false;
    this.#waiting.push(run);
    return true;
  }

  #startTurn(): void {
    this.#startedMs = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** An immediate does not let the event loop wait for anything, so the turn took as long as what it did. */
  #endTurn(): void {
    const isLate = performance.now() - this.#startedMs > MAX_TURN_MS;
    this.#perTurn = isLate ? Math.ceil(this.#perTurn / 4) : Math.min(this.#maxPerTurn, this.#perTurn * 2);
    this.#begun = Math.min(this.#perTurn, this.#waiting.length);
    if (this.#begun === 0) return;
    this.#startTurn();
    for (const run of this.#waiting.splice(0, this.#begun)) run();
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
  #waiting = 0;

  constructor(begin: RequestListener, isUrgent: (request: IncomingMessage) => boolean, turns: Turns) {
    this.#begin = begin;
    this.#isUrgent = isUrgent;
    this.#turns = turns;
  }

  /** Takes a request as it arrived. It begins now or later, or its connection is closed. */
  enter(request: IncomingMessage, response: ServerResponse): void {
    const socket: GatedSocket = request.socket;
    if (socket.destroyed) return;
    socket[PIPELINE] ??= { isBusy: false, waiting: [] };
    const pipeline = socket[PIPELINE];
    if (!pipeline.isBusy) this.#admit({ request, response }, pipeline);
    else if (pipeline.waiting.length < MAX_PIPELINED && this.#waiting < MAX_WAITING) {
      this.#waiting += 1;
      pipeline.waiting.push({ request, response });
    } else socket.destroy();
  }

  #admit({ request, response }: Waiting, pipeline: Pipeline): void {
    const { socket } = request;
    pipeline.isBusy = true;
    response.once("close", () => this.#ended(socket, pipeline));
    const run = () => {
      if (!socket.destroyed) this.#begin(request, response);
    };
    if (this.#isUrgent(request)) run();
    else if (!this.#turns.take(run)) socket.destroy();
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
