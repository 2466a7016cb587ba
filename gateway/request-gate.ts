import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait for the one before them; a client that pipelines more is disconnected. */
const MAX_PIPELINED = 64;
/** Requests that begin in one turn of the event loop without waiting for the next. */
const MAX_PER_TURN = 4;
/** Requests of all connections that wait; each keeps its head in memory. The connection of one more is closed. */
const MAX_WAITING = 5_000;

type Waiting = { readonly request: IncomingMessage; readonly response: ServerResponse };

/**
 * Stands before the whole server and decides when a request begins. Of one connection one request is worked on at a
 * time, so that a client that pipelines holds one answer and not all of them; and when many requests arrive at once, a
 * few begin in each turn of the event loop, so that other events are handled in between. `isUrgent` requests, such as
 * health checks, do not wait for a turn.
 */
export class RequestGate {
  readonly #begin: RequestListener;
  readonly #isUrgent: (request: IncomingMessage) => boolean;
  /** Requests that wait for the one before them, by connection; present while one is worked on. */
  readonly #pipelined = new WeakMap<Socket, Waiting[]>();
  readonly #nextTurns: Waiting[] = [];
  #begunInTurn = 0;
  #waiting = 0;

  constructor(begin: RequestListener, isUrgent: (request: IncomingMessage) => boolean) {
    this.#begin = begin;
    this.#isUrgent = isUrgent;
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

  #admit(next: Waiting): void {
    next.response.once("close", () => this.#ended(next.request.socket));
    if (this.#isUrgent(next.request)) {
      this.#run(next);
      return;
    }
    if (this.#begunInTurn === 0) setImmediate(() => this.#turn());
    if (this.#begunInTurn < MAX_PER_TURN && this.#nextTurns.length === 0) {
      this.#begunInTurn += 1;
      this.#run(next);
    } else if (this.#waiting < MAX_WAITING) {
      this.#waiting += 1;
      this.#nextTurns.push(next);
    } else next.request.socket.destroy();
  }

  /** One that waited begins in each turn: what it does synchronously is over when the next turn comes. */
  #turn(): void {
    const next = this.#nextTurns.shift();
    this.#begunInTurn = next ? MAX_PER_TURN : 0;
    if (!next) return;
    this.#waiting -= 1;
    setImmediate(() => this.#turn());
    this.#run(next);
  }

  #run({ request, response }: Waiting): void {
    if (!request.socket.destroyed) this.#begin(request, response);
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
