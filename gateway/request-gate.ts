import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait for the one before them; a client that pipelines more is disconnected. */
const MAX_PIPELINED = 64;
/** What begins in one turn of the event loop without waiting for the next, unless stated. */
const MAX_PER_TURN = 4;
/** Pipelined requests of all connections that wait; each keeps its head in memory. The connection of one more is closed. */
const MAX_WAITING = 5_000;
/** What waits for its turn, a request or a handshake of a connection each. */
const MAX_WAITING_TURNS = 5_000;

type Waiting = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** Spreads what arrives at once over turns of the event loop: a few begin in a turn, the others one in each later turn. */
export class Turns {
  readonly #maxPerTurn: number;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;

  constructor(maxPerTurn = MAX_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
  }

  /** Runs now or in a later turn, in order. False when too many wait already: then it does not run. */
  take(run: () => void): boolean {
    if (this.#begun === 0) setImmediate(() => this.#next());
    if (this.#begun < this.#maxPerTurn && this.#waiting.length === 0) {
      this.#begun += 1;
      run();
      return true;
    }
    if (this.#waiting.length >= MAX_WAITING_TURNS) return false;
    this.#waiting.push(run);
    return true;
  }

  /** What one does synchronously is over when the next turn comes. */
  #next(): void {
    const run = this.#waiting.shift();
    this.#begun = run ? this.#maxPerTurn : 0;
    if (!run) return;
    setImmediate(() => this.#next());
    run();
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
  /** Requests that wait for the one before them, by connection; present while one is worked on. */
  readonly #pipelined = new WeakMap<Socket, Waiting[]>();
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
    const pipelined = this.#pipelined.get(socket);
    if (!pipelined) {
      this.#pipelined.set(socket, []);
      this.#admit({ request, response });
    } else if (pipelined.length < MAX_PIPELINED && this.#waiting < MAX_WAITING) {
      this.#waiting += 1;
      pipelined.push({ request, response });
    } else socket.destroy();
  }

  #admit({ request, response }: Waiting): void {
    const { socket } = request;
    response.once("close", () => this.#ended(socket));
    const run = () => {
      if (!socket.destroyed) this.#begin(request, response);
    };
    if (this.#isUrgent(request)) run();
    else if (!this.#turns.take(run)) socket.destroy();
  }

  #ended(socket: Socket): void {
    const pipelined = this.#pipelined.get(socket);
    if (!pipelined || socket.destroyed) {
      this.#waiting -= pipelined?.length ?? 0;
      this.#pipelined.delete(socket);
      return;
    }
    const next = pipelined.shift();
    if (next) {
      this.#waiting -= 1;
      this.#admit(next);
    } else this.#pipelined.delete(socket);
  }
}
