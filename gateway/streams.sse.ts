import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import type { OperationArgs, Response } from "graphql-sse";
import { createHandler } from "graphql-sse/lib/use/fastify";
import type { Principal } from "../src/keys/principal.ts";
import { hopOf } from "../src/keys/source-address.ts";
import { toAppError } from "../src/rest/error-body.ts";
import { LIMITS } from "./policy.ts";
import type { StreamedOperation, Streams } from "./streams.ts";

type StreamContext = Principal & Record<PropertyKey, unknown>;

/**
 * GraphQL over server-sent events at /graphql/stream (graphql-sse, distinct connections and single connection mode).
 * The credential is the `Authorization` header; a wrong one is answered with the status that REST gives it.
 */
export async function ssePlugin(server: FastifyInstance, { streams }: { streams: Streams }): Promise<void> {
  const run = (operation: unknown) => streams.run(operation as StreamedOperation);
  const refuse = (status: number, errors: readonly object[], retryAfterSeconds?: number): Response => [
    JSON.stringify({ errors }),
    {
      status,
      statusText: "Refused",
      headers: {
        "content-type": "application/json; charset=utf-8",
        ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
      },
    },
  ];
  const handler = createHandler<StreamContext>({
    async onSubscribe(request, { query, operationName, variables }) {
      try {
        const principal = await streams.authenticate(request.raw.headers.authorization, hopOf(request.raw));
        const operation = streams.admit({ query, operationName, variables }, principal);
        return "document" in operation ? (operation as OperationArgs<StreamContext>) : refuse(400, operation);
      } catch (error) {
        const { status, message, code, retryAfterSeconds } = toAppError(error);
        return refuse(status, [{ message, extensions: { code } }], retryAfterSeconds);
      }
    },
    execute: run,
    subscribe: run,
  });
  const open = new Set<ServerResponse>();
  server.addHook("preClose", async () => {
    for (const response of open) response.end();
  });
  server.route({
    method: ["GET", "POST", "PUT", "DELETE"],
    url: "/graphql/stream",
    bodyLimit: LIMITS.bodyBytes,
    async handler(request, reply) {
      open.add(reply.raw);
      reply.raw.once("close", () => open.delete(reply.raw));
      return handler(request, reply);
    },
  });
}
