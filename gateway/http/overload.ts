import { createServer, type IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest, FastifyServerFactory } from "fastify";
import type { App } from "../../src/app.ts";
import { BODY_COPIES, type MemoryLease } from "../../src/load/memory-budget.ts";
import { resetConnection } from "../../src/rest/http/reset-connection.ts";
import { JsonParts } from "../../src/rest/json-parts/json-parts.ts";
import { RequestGate } from "./request-gate.ts";
import { overloaded, Turns } from "./turns.ts";

/** Smaller bodies and responses are bounded by the number of connections, and not worth counting. */
const MIN_COUNTED_BYTES = 16_384;
/** Parsing a larger body takes milliseconds: one is parsed per turn of the event loop. */
const LARGE_BODY_BYTES = 262_144;
/** Memory for a body is reserved in steps of this size. */
const STEP_BYTES = 65_536;

const HEALTH = /^\/(?:healthz|readyz)(?:\?|$)/;

/** The HTTP server of the gateway: requests pass the gate and wait for their turn before Fastify handles them. */
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
 * Protects the process from overload. While the event loop is late or memory is near its limit, requests are refused
 * with `overloaded` (503 with `Retry-After`) before any work is done, except health checks; requests in progress
 * continue. Bodies are reserved in the memory budget as they arrive, and responses are counted until the client has
 * read them; a client that reads nothing of a response for `CLIENT_STALL_MS` is disconnected.
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
    if (!mayBeLarge(request) || load.requests.isCounted(request.raw)) return done(null, payload);
    const lease = load.requests.of(request.raw, reply.raw);
    try {
      requireRoom(request, lease);
    } catch (error) {
      return done(error as Error);
    }
    reserveAsItComes(request, lease);
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
      const lease = load.requests.of(request.raw, reply.raw);
      lease.charge(bytes);
      lease.markUnread(() => resetConnection(reply.raw));
      // Node restarts this timeout whenever the client reads some of the response, and clears it at the end.
      reply.raw.setTimeout(app.config.CLIENT_STALL_MS, () => resetConnection(reply.raw));
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

/** A chunked body does not announce its length. */
function mayBeLarge({ headers }: FastifyRequest): boolean {
  if (headers["transfer-encoding"] !== undefined) return true;
  return Number(headers["content-length"] ?? 0) > MIN_COUNTED_BYTES;
}

/** Refuses an announced body that can never fit before it is read. The route itself refuses one above its limit. */
function requireRoom({ raw, routeOptions }: FastifyRequest, lease: MemoryLease): void {
  const announced = Number(raw.headers["content-length"] ?? 0);
  if (announced <= (routeOptions.bodyLimit ?? 0))
    lease.requireShare((announced - MIN_COUNTED_BYTES) * BODY_COPIES);
}

/**
 * Reserves one step ahead of the bytes read. Announced bytes cost nothing: otherwise a few connections that announce
 * large bodies could block all others. When memory runs out, the body's reader receives the error.
 */
function reserveAsItComes({ raw, routeOptions }: FastifyRequest, lease: MemoryLease): void {
  const mostBytes = Math.min(
    Number(raw.headers["content-length"] ?? Number.POSITIVE_INFINITY),
    routeOptions.bodyLimit ?? Number.POSITIVE_INFINITY,
  );
  let reserved = MIN_COUNTED_BYTES;
  let read = 0;
  const count = (chunk: Buffer) => {
    read += chunk.length;
    if (read <= reserved) return;
    try {
      const ahead = Math.max(read, Math.min(read + STEP_BYTES, mostBytes));
      lease.reserveBody((ahead - reserved) * BODY_COPIES);
      reserved = ahead;
    } catch (error) {
      raw.off("data", count);
      if (raw.listenerCount("error") > 0) raw.emit("error", error);
      else raw.destroy();
    }
  };
  raw.on("data", count);
}
