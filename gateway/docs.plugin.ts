import { readFileSync } from "node:fs";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";

const OPENAPI = new URL("../schema/openapi.json", import.meta.url);
const API_SCHEMA = new URL("../schema/api.graphql", import.meta.url);

/** Pages of the REST contract at `/docs/`, and the graph's contract as text; `/openapi.json` is REST's own. */
export async function docsPlugin(server: FastifyInstance): Promise<void> {
  server.get("/schema.graphql", async (_, reply) =>
    reply.type("text/plain; charset=utf-8").send(readFileSync(API_SCHEMA)),
  );
  await server.register(swagger, {
    mode: "static",
    specification: { document: JSON.parse(readFileSync(OPENAPI, "utf8")) },
  });
  await server.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: true,
    theme: { title: "zerograph REST" },
    // Without its bar, in which any other address could be typed.
    uiConfig: { layout: "BaseLayout", docExpansion: "list", persistAuthorization: false },
  });
}
