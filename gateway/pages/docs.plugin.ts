import { readFileSync } from "node:fs";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { toYaml } from "./yaml.ts";

const OPENAPI = new URL("../../schema/openapi.json", import.meta.url);
const API_SCHEMA = new URL("../../schema/api.graphql", import.meta.url);

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page has no dark theme: its colours are inverted, and those of code blocks inverted back. */
const DARK = `@media (prefers-color-scheme: dark) {
  html { background: #16181d }
  body { background: none }
  .swagger-ui { filter: invert(0.9) hue-rotate(180deg) }
  .swagger-ui .highlight-code, .swagger-ui .opblock-summary-method { filter: invert(1) hue-rotate(180deg) }
}`;

/**
 * Serves the REST documentation at `/docs/` and, where clients may see it, the GraphQL schema as text;
 * `/openapi.json` belongs to REST.
 */
export async function docsPlugin(
  server: FastifyInstance,
  { introspection }: { readonly introspection: boolean },
): Promise<void> {
  if (introspection) {
    const text = readFileSync(API_SCHEMA);
    server.get("/schema.graphql", async (_, reply) => reply.type("text/plain; charset=utf-8").send(text));
  }
  const document = JSON.parse(readFileSync(OPENAPI, "utf8"));
  await server.register(swagger, { mode: "static", specification: { document } });
  // Swagger UI would serialise the document again for each request.
  const texts = new Map([
    ["/docs/json", { type: "application/json; charset=utf-8", bytes: Buffer.from(JSON.stringify(document)) }],
    ["/docs/yaml", { type: "application/x-yaml", bytes: Buffer.from(toYaml(document)) }],
  ]);
  const sendText = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const text = texts.get(request.routeOptions.url ?? "");
    if (text) void reply.type(text.type).send(text.bytes);
    else done();
  };
  await server.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: true,
    // Its default policy allows styles of every host, and the validator of another host.
    transformStaticCSP: () => POLICY,
    uiHooks: { onRequest: sendText },
    theme: { title: "zerograph REST", css: [{ filename: "dark.css", content: DARK }] },
    // Hides the top bar, into which any other URL could be typed.
    uiConfig: {
      layout: "BaseLayout",
      // Links to an operation, such as those of the dashboard's palette: #/TAG/OPERATION.
      deepLinking: true,
      docExpansion: "list",
      defaultModelsExpandDepth: 0,
      persistAuthorization: false,
    },
  });
}
