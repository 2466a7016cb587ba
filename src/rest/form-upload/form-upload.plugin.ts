import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { RequestMemory } from "../../load/request-memory.ts";
import { FormUpload } from "./form-upload.ts";

type Options = { readonly memory: RequestMemory; readonly route: RouteOptions };

/** What the parser, the sockets and the file hold of an upload at once, bytes. */
const BUFFER_BYTES = 2 * 1_048_576;

/**
 * Mounts a route whose form is read by its handler while it arrives: the handler gets a `FormUpload`. A constant part of
 * the memory budget is reserved for it.
 */
export async function formUploadPlugin(server: FastifyInstance, { memory, route }: Options): Promise<void> {
  server.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
    memory.countsItself(request.raw);
    memory.of(request.raw, reply.raw).reserve(BUFFER_BYTES);
  });
  server.removeContentTypeParser("multipart/form-data");
  server.addContentTypeParser(
    "multipart/form-data",
    async (request: FastifyRequest) => new FormUpload(request.raw),
  );
  server.route(route);
}
