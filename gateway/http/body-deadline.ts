import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { hasBody } from "./body-guards.ts";

/** Routes that accept larger bodies than this have a longer deadline. */
const LARGE_BYTES = 4 * 1_048_576;

/**
 * Answers 408 `body_timeout` and closes the connection when a request body is not complete in time: after `bodyMs`,
 * or after `uploadMs` on routes that accept large bodies (promises P8).
 */
export function limitBodyTime(
  server: FastifyInstance,
  { bodyMs, uploadMs }: { readonly bodyMs: number; readonly uploadMs: number },
): void {
  const deadlines = new Slot<FastifyRequest, NodeJS.Timeout>();
  server.addHook("onRequest", (request, reply, done) => {
    if (hasBody(request.headers)) {
      const isLarge = (request.routeOptions.bodyLimit ?? 0) > LARGE_BYTES;
      deadlines.set(
        request,
        setTimeout(() => refuse(request, reply), isLarge ? uploadMs : bodyMs),
      );
    }
    done();
  });
  server.addHook("preHandler", (request, _reply, done) => {
    const end = () => clearTimeout(deadlines.get(request));
    // A form that is read by its handler still arrives.
    if (request.raw.complete) end();
    else request.raw.once("end", end);
    done();
  });
  server.addHook("onRequestAbort", (request, done) => {
    clearTimeout(deadlines.get(request));
    done();
  });
  server.addHook("onResponse", (request, _reply, done) => {
    clearTimeout(deadlines.get(request));
    done();
  });
}

/** The body's reader sees the failure as a broken connection and answers it like any other error. */
function refuse({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete || reply.sent) return;
  reply.header("connection", "close");
  const failure = new AppError("body_timeout", "The body did not arrive in time.");
  if (raw.listenerCount("error") > 0) raw.emit("error", failure);
  else raw.destroy();
}
