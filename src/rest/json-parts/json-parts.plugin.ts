import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { TurnQueue } from "../../kernel/async/turn-queue.ts";
import { Slot } from "../../kernel/slot.ts";
import type { RequestMemory } from "../../load/request-memory.ts";
import { readJsonParts } from "./read-json-parts.ts";

type Options = {
  readonly memory: RequestMemory;
  readonly route: RouteOptions;
  readonly maxTextLength: number;
};

/**
 * Mounts a route whose JSON body is parsed in parts as it arrives, so that it may be large: the handler gets
 * `JsonParts`. Whatever is buffered of the body is reserved in the memory budget.
 */
export async function jsonPartsPlugin(
  server: FastifyInstance,
  { memory, route, maxTextLength }: Options,
): Promise<void> {
  const replies = new Slot<FastifyRequest, FastifyReply>();
  const turns = new TurnQueue();
  server.addHook("onRequest", async (request, reply) => {
    memory.countsItself(request.raw);
    replies.set(request, reply);
  });
  server.removeContentTypeParser("application/json");
  server.addContentTypeParser("application/json", (request: FastifyRequest) => {
    const response = (replies.get(request) as FastifyReply).raw;
    const maxBytes = request.routeOptions.bodyLimit ?? 0;
    return readJsonParts(request.raw, {
      maxBytes,
      maxTextLength,
      turns,
      lease: () => memory.of(request.raw, response),
    });
  });
  server.route(route);
}
