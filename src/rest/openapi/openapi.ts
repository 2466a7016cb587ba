import { z } from "zod";
import { PERMISSIONS, type Permission } from "../../keys/auth/permissions.ts";
import { ENVELOPE_FAILURE } from "../envelope.ts";
import { ERROR_BODY } from "../errors/error-body.ts";
import type { Access, Route } from "../route.ts";
import {
  ANTHROPIC_VERSION,
  CACHE,
  DOWNLOAD_HEADERS,
  FALLBACK_MODELS_HEADER,
  IDEMPOTENCY_KEY,
  IDEMPOTENCY_KEY_OF_SECRETS,
  REQUEST_ID,
  RESPONSE_HEADERS,
  ROUTING_HEADERS,
  TAGS_OF_REQUEST,
} from "./openapi-headers.ts";
import { noteOf } from "./openapi-notes.ts";
import { TAGS, tagOf } from "./openapi-tags.ts";

type Schema = Readonly<Record<string, unknown>>;
type Direction = "input" | "output";

export const API_VERSION = "1";
const ABOUT = `OpenAI-compatible inference billed against a deposit, account management, and a storage gateway.

- **\`sk-\` keys** run inference and are billed; **\`mk-\` keys** read and manage the account, within their scopes; a **wallet session** can do all that an \`mk-\` key can, and also manages \`mk-\` keys.
- Amounts are decimal strings of **neuron**: 10^18 neuron are one token of the network. The amounts in OpenRouter's shapes (\`usage.cost\`, \`/v1/generation\`, \`/v1/key\`, \`/v1/credits\`) are JSON numbers of tokens of the network, with all their digits.
- Errors have the shape \`{"error":{"message","type","code","param"},"request_id"}\`; those of the storage endpoints have \`{"code","message","data"}\`.
- Every request that is billed or creates something accepts an \`Idempotency-Key\`, except \`POST /v1/files\`, where each upload is a separate file, and \`POST /v1/auth/signin\`, whose nonce can be used only once. Inference requests also accept the routing headers.
- Subscribe to changes over GraphQL, at [/graphql](/graphql).`;
const BEARERS: Readonly<Record<string, string>> = {
  apiKey: "An API key, `sk-...`, which runs inference and is billed.",
  managementKey: "A management key, `mk-...`, with the scope that the operation requires.",
  session: "A wallet session, `ws-...`.",
};

/** The OpenAPI 3.1 document, generated from the list of routes, so that it always matches what is mounted. */
export function toOpenApi(routes: readonly Route[]): Schema {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, Schema>> = {};
  for (const route of routes) {
    const path = route.url.replace(/:(\w+)/g, "{$1}").replace("*", `{${route.wildcard}}`);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, schemas) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "zerograph",
      version: API_VERSION,
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: Object.fromEntries(
        Object.entries(BEARERS).map(([name, description]) => [
          name,
          { type: "http", scheme: "bearer", description },
        ]),
      ),
      headers: RESPONSE_HEADERS,
      schemas: schemas.named,
    },
  };
}

function operationOf(route: Route, schemas: Schemas): Schema {
  const bodies = Object.entries(route.bodies);
  const { description, example } = noteOf(route);
  const failure = contentOf({ "application/json": failureOf(route) }, schemas, "output");
  return {
    operationId: operationId(route),
    tags: [tagOf(route)],
    summary: route.summary,
    ...(description !== undefined && { description }),
    security: securityOf(route.access),
    parameters: parametersOf(route, schemas),
    ...(bodies.length > 0 && {
      requestBody: {
        required: !bodies.every(([, schema]) => schema.safeParse(undefined).success),
        content: withExample(withoutDefault(contentOf(route.bodies, schemas, "input")), example),
      },
    }),
    responses: {
      ...answersOf(route, schemas),
      "4XX": { description: "The request was rejected.", content: failure },
      "5XX": { description: "The request was valid but failed.", content: failure },
    },
  };
}

function failureOf({ failure, errors }: Route): z.ZodType {
  return failure ?? (errors === "storage" ? ENVELOPE_FAILURE : ERROR_BODY);
}

/** The headers of a whole file, a part of it, and 304. */
const DOWNLOADED = ["ETag", "Content-Disposition", "X-Storage-Root"] as const;

function answersOf({ answer, repetition, isCached }: Route, schemas: Schemas): Schema {
  if (!answer) return {};
  const { status = 200, json, media, partialMedia, empty } = answer;
  const headers = headersOf([
    "X-Request-ID",
    ...(repetition && repetition !== "secret" ? (["Idempotent-Replayed"] as const) : []),
    ...(isCached ? (["X-0G-Cache"] as const) : []),
    ...(partialMedia ? DOWNLOADED : []),
  ]);
  const content = contentOf({ ...(json && { "application/json": json }), ...media }, schemas, "output");
  return {
    [status]: { description: "Success.", headers, content },
    ...(empty !== undefined && { 204: { description: empty, headers } }),
    ...(partialMedia && {
      206: {
        description: "The bytes of the `Range`.",
        headers: { ...headers, ...headersOf(["Content-Range"]) },
        content: contentOf(partialMedia, schemas, "output"),
      },
      304: { description: "The client's copy is current.", headers },
    }),
  };
}

function headersOf(names: readonly (keyof typeof RESPONSE_HEADERS)[]): Schema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function contentOf(
  media: Readonly<Record<string, z.ZodType>>,
  schemas: Schemas,
  direction: Direction,
): Schema {
  return Object.fromEntries(
    Object.entries(media).map(([type, schema]) => [type, { schema: schemas.read(schema, direction) }]),
  );
}

/**
 * Removes the default of a body as a whole: `required` already says that it may be absent, and generated code rejects a
 * default without the members that have one of their own.
 */
function withoutDefault(content: Schema): Schema {
  return Object.fromEntries(
    Object.entries(content).map(([type, media]) => {
      const { default: _default, ...schema } = (media as { readonly schema: Schema }).schema;
      return [type, { schema }];
    }),
  );
}

/** Adds the example to a JSON body. */
function withExample(content: Schema, example: unknown): Schema {
  const json = content["application/json"] as Schema | undefined;
  return json && example !== undefined ? { ...content, "application/json": { ...json, example } } : content;
}

function parametersOf(route: Route, schemas: Schemas): readonly Schema[] {
  const { url, wildcard, query, repetition, isAdmitted, isCached, access, answer } = route;
  const inPath = [...url.matchAll(/:(\w+)|\*/g)].map(([, name = wildcard]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const declared = schemas.read(query, "input") as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  const inQuery = Object.entries(declared.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: declared.required?.includes(name) ?? false,
    schema,
  }));
  const headers = [
    ...(repetition ? [repetition === "secret" ? IDEMPOTENCY_KEY_OF_SECRETS : IDEMPOTENCY_KEY] : []),
    ...(isAdmitted || access === "routing.preview" ? ROUTING_HEADERS : []),
    ...(route.hasFallbackModels ? [FALLBACK_MODELS_HEADER] : []),
    ...(isCached ? [CACHE] : []),
    ...(isAdmitted ? [TAGS_OF_REQUEST] : []),
    ...(route.hasAnthropicShape ? [ANTHROPIC_VERSION] : []),
    ...(answer?.partialMedia ? DOWNLOAD_HEADERS : []),
    REQUEST_ID,
  ].map((header) => ({ ...header, in: "header", required: false }));
  return [...inPath, ...inQuery, ...headers];
}

function securityOf(access: Access): readonly Schema[] {
  if (access === "public") return [];
  const { apiKey, scope, session }: Permission = PERMISSIONS[access];
  return [
    ...(apiKey === "none" ? [] : [{ apiKey: [] }]),
    ...(scope === null ? [] : [{ managementKey: [scope] }]),
    ...(session ? [{ session: [] }] : []),
  ];
}

/** `GET /v1/api-keys/:id` is `getV1ApiKeysId`. */
function operationId({ method, url, wildcard }: Route): string {
  const words = url
    .replace("*", wildcard)
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "");
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** Converts zod schemas into JSON Schema; those with an `id` become components, which the others reference. */
class Schemas {
  readonly #named: Record<string, Schema> = {};

  get named(): Readonly<Record<string, Schema>> {
    return this.#named;
  }

  read(schema: z.ZodType, direction: Direction): Schema {
    const made = z.toJSONSchema(schema, { io: direction, unrepresentable: "any" });
    const { $schema: _, $defs = {}, ...own } = pointAtComponents(made) as Schema & { $defs?: object };
    for (const [name, definition] of Object.entries($defs)) {
      const { id: _id, ...named } = definition as Schema;
      this.#named[name] = named;
    }
    return own;
  }
}

function pointAtComponents(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'));
}
