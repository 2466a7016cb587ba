import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Slot } from "../../src/kernel/slot.ts";
import type { Turns } from "./turns.ts";

/** Requests of one connection that wait for the previous one; a client that pipelines more is disconnected. */
const MAX_PIPELINED = 64;
/**
 * Pipelined requests of all connections that wait; each keeps its headers in memory. One more closes its connection.
 */
const MAX_WAITING = 5_000;

type Waiting = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** State of a connection: whether one of its requests is in progress, and the requests that wait for it. */
type Pipeline = { isBusy: boolean; readonly waiting: Waiting[] };

/**
 * Runs before the server and decides when a request begins. Each connection has one request in progress at a time,
 * so that a client that pipelines holds one response and not all of them; and requests take turns, so that other
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

  /** Accepts an incoming request. It begins now or later, or its connection is closed. */
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
