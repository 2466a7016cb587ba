import { createServer, type IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest, FastifyServerFactory } from "fastify";
import type { App } from "../../src/app.ts";
import { JsonParts } from "../../src/rest/json-parts/json-parts.ts";
import { RequestGate } from "./request-gate.ts";
import { overloaded, Turns } from "./turns.ts";

/** Smaller bodies and answers are bounded by the number of connections, and not worth counting. */
const MIN_COUNTED_BYTES = 16_384;
/** A body is held as the chunks that came, then as one piece, then as text or values. */
const BODY_FACTOR = 3;
/** To read a larger body takes milliseconds: one is read in a turn of the event loop. */
const LARGE_BODY_BYTES = 262_144;
/** So much of a body is reserved at a time. */
const STEP_BYTES = 65_536;

const HEALTH = /^\/(?:healthz|readyz)(?:\?|$)/;

/** The HTTP server of the gateway: requests pass its gate, and take turns, before Fastify sees them. */
export function gatedServer(
  turns: Turns,
  options: Parameters<typeof createServer>[0] = {},
): FastifyServerFactory {
  return (handler) => {
    const gate = new RequestGate(handler, isHealthCheck, turns);
    return createServer(options, (request, response) => gate.enter(request, response)).on("connection", () =>
      turns.accepted(),
    );
  };
}

/**
 * Keeps the process from being overloaded. While the event loop is late or memory is near its limit, requests are refused
 * with `overloaded` (503 with `Retry-After`) before anything is done for them, except health checks; what is under way
 * goes on. Bodies are reserved in the memory budget as they come, and answers are counted until their client has read
 * them; a client that reads nothing of an answer for `CLIENT_STALL_MS` is disconnected.
 */
export function limitLoad(server: FastifyInstance, app: App): void {
  const { load, metrics } = app;
  server.addHook("onListen", async () => load.monitor.start());
  server.addHook("onClose", async () => load.monitor.stop());
  server.addHook("onRequest", (request, _reply, done) => {
    const cause = isHealthCheck(request.raw) ? undefined : load.monitor.overload;
    if (cause) metrics?.refused(cause);
    done(cause && overloaded());
  });
  server.addHook("preParsing", (request, reply, payload, done) => {
    if (mayBeLarge(request) && !load.requests.isCounted(request.raw))
      reserveAsItComes(request, (bytes) => load.requests.of(request.raw, reply.raw).reserve(bytes));
    done(null, payload);
  });
  const largeBodies = new Turns(1);
  server.server.on("connection", () => largeBodies.accepted());
  server.addHook("preValidation", ({ body }, _reply, done) => {
    if (bytesToParse(body) <= LARGE_BODY_BYTES) return done();
    if (!largeBodies.take(() => done())) done(overloaded());
  });
  server.addHook("onSend", (request, reply, payload, done) => {
    const bytes = typeof payload === "string" || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes > MIN_COUNTED_BYTES) {
      load.requests.of(request.raw, reply.raw).charge(bytes);
      // Counted anew whenever some of it is read; Node takes the time-out away when all of it was.
      reply.raw.setTimeout(app.config.CLIENT_STALL_MS, () => reply.raw.destroy());
    }
    done(null, payload);
  });
}

function bytesToParse(body: unknown): number {
  if (body instanceof JsonParts) return body.json.length;
  return Buffer.isBuffer(body) ? body.length : 0;
}

function isHealthCheck({ url = "" }: IncomingMessage): boolean {
  return HEALTH.test(url);
}

/** A body that comes in chunks does not announce its length. */
function mayBeLarge({ headers }: FastifyRequest): boolean {
  if (headers["transfer-encoding"] !== undefined) return true;
  return Number(headers["content-length"] ?? 0) > MIN_COUNTED_BYTES;
}

/**
 * Reserves a step ahead of what was read, since what is only announced costs nothing: else a few connections that
 * announce large bodies could keep out all others. When there is no room, whoever reads the body sees it fail.
 */
function reserveAsItComes({ raw }: FastifyRequest, reserve: (bytes: number) => void): void {
  let reserved = MIN_COUNTED_BYTES;
  let read = 0;
  const count = (chunk: Buffer) => {
    read += chunk.length;
    if (read <= reserved) return;
    try {
      reserve((read - reserved + STEP_BYTES) * BODY_FACTOR);
      reserved = read + STEP_BYTES;
    } catch (error) {
      raw.off("data", count);
      if (raw.listenerCount("error") > 0) raw.emit("error", error);
      else raw.destroy();
    }
  };
  raw.on("data", count);
}
