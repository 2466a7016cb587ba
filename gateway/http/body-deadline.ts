import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { hasBody } from "./body-guards.ts";

/** Routes that take more than this wait longer for it. */
const LARGE_BYTES = 4 * 1_048_576;

/**
 * Answers 408 `body_timeout` to a request whose body is not there in time, and ends its connection: after `bodyMs`, or
 * after `uploadMs` where a route takes large ones (promises P8).
 */
export function limitBodyTime(
  server: FastifyInstance,
  { bodyMs, uploadMs }: { readonly bodyMs: number; readonly uploadMs: number },
): void {
  const deadlines = new Slot<FastifyRequest, NodeJS.Timeout>();
  const clear = async (request: FastifyRequest) => clearTimeout(deadlines.get(request));
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
    clearTimeout(deadlines.get(request));
    done();
  });
  server.addHook("onRequestAbort", clear);
  server.addHook("onResponse", clear);
}

/** Whoever reads the body hears of the failure as if the line had broken, and answers it like any other. */
function refuse({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete || reply.sent) return;
  reply.header("connection", "close");
  const failure = new AppError("body_timeout", "The body did not come in time.");
  if (raw.listenerCount("error") > 0) raw.emit("error", failure);
  else raw.destroy();
}
