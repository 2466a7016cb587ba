import Fastify from "fastify";
import { Pool } from "undici";

/** A router without any of its work: Fastify, undici's `request` and `stream`, one bearer, no billing. */
const { PROVIDER_URL = "", BEARER = "" } = process.env;
const pool = new Pool(PROVIDER_URL, { connections: 256 });
const server = Fastify();
const headers = { authorization: `Bearer ${BEARER}`, "content-type": "application/json" };
const path = "/v1/proxy/chat/completions";

server.removeAllContentTypeParsers();
server.addContentTypeParser("application/json", { parseAs: "buffer" }, (_, body, done) => done(null, body));
server.post("/v1/chat/completions", async (request, reply) => {
  const body = request.body as Buffer;
  if (body.includes('"stream":true')) {
    reply.hijack();
    await pool.stream({ method: "POST", path, headers, body, opaque: reply.raw }, ({ statusCode }) =>
      reply.raw.writeHead(statusCode, { "content-type": "text/event-stream" }),
    );
    return undefined;
  }
  const answer = await pool.request({ method: "POST", path, headers, body });
  return reply
    .code(answer.statusCode)
    .header("content-type", "application/json")
    .send(Buffer.from(await answer.body.arrayBuffer()));
});
console.log(`ready at ${await server.listen({ host: "127.0.0.1", port: 0 })}`);
