import fc from "fast-check";
import { expect, test } from "vitest";
import { readTranscriptionJson } from "../../src/inference/audio/audio-request.ts";
import { readSpeechRequest } from "../../src/inference/audio/speech-request.ts";
import { readChatRequest } from "../../src/inference/chat/chat-request.ts";
import { readCompletionsRequest } from "../../src/inference/completions/completions-request.ts";
import { readEmbeddingsRequest } from "../../src/inference/embeddings/embeddings-request.ts";
import { readImageRequest } from "../../src/inference/images/image-request.ts";
import { readMessagesRequest, readTokenCountRequest } from "../../src/inference/messages/messages-request.ts";
import { readRerankRequest } from "../../src/inference/rerank/rerank-request.ts";
import { readResponsesRequest } from "../../src/inference/responses/responses-request.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { toOpenApi } from "../../src/rest/openapi/openapi.ts";
import { NOTES } from "../../src/rest/openapi/openapi-notes.ts";
import { routes } from "../../src/rest/routes.ts";
import { type OpenApi, OpenApiCheck } from "../support/clients/openapi.ts";

const JSON_TYPE = "application/json";
const check = new OpenApiCheck(toOpenApi(routes) as OpenApi);

/**
 * The schemas by which the routes that read raw bytes parse JSON; the others parse with the schema in
 * `bodies`.
 */
const READERS: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  "POST /v1/chat/completions": readChatRequest,
  "POST /v1/responses": readResponsesRequest,
  "POST /v1/completions": readCompletionsRequest,
  "POST /v1/messages": readMessagesRequest,
  "POST /v1/messages/count_tokens": readTokenCountRequest,
  "POST /v1/images/generations": readImageRequest,
  "POST /v1/async/images/generations": readImageRequest,
  "POST /v1/audio/transcriptions": readTranscriptionJson,
  "POST /v1/audio/speech": readSpeechRequest,
  "POST /v1/embeddings": readEmbeddingsRequest,
  "POST /v1/rerank": readRerankRequest,
};

/**
 * Rules that JSON Schema cannot express, or only as an informative `format`: such bodies may be refused all
 * the same.
 */
const BEYOND_JSON_SCHEMA: Readonly<Record<string, RegExp>> = {
  "POST /v1/responses": /^(?:input\.|tools\.|tool_choice)/,
  "POST /v1/completions": /^(?:n|best_of)$/,
  "POST /v1/messages": /^tools\./,
  "POST /v1/messages/count_tokens": /^tools\./,
  "POST /v1/audio/transcriptions": /^file_base64$/,
  "POST /v1/api-keys": /^(?:name|label)$/,
  "PATCH /v1/api-keys/:id": /^(?:name|label)$/,
  "POST /v1/management-keys": /^name$/,
  "PATCH /v1/management-keys/:id": /^name$/,
};

const bodies = routes.flatMap((route) => {
  const schema = route.bodies[JSON_TYPE];
  return schema && route.errors !== "rpc" ? [{ ...route, name: `${route.method} ${route.url}`, schema }] : [];
});

/** Values on which a parser and a schema may disagree. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    "",
    "a",
    " ",
    "true",
    "0.5",
    "1e3",
    "latency",
    "private",
    "none",
  ),
  fc.constantFrom<unknown>(0, 1, -1, 0.5, 128, 129, 2 ** 31 - 1, 2 ** 31, 2 ** 40, 2 ** 53, 1e300),
  fc.constantFrom<unknown>("x".repeat(256), "x".repeat(257), `0x${"aB".repeat(20)}`, `0x${"ab".repeat(32)}`),
  fc.constantFrom<unknown>("2126-01-01T00:00:00Z", "2126-01-01", "no_expiration", "read-only", "b64_json"),
  fc.constantFrom<unknown>([], {}, [null], [{}], ["a"], [[]], [{ role: "user" }], [{ role: 1 }]),
  fc.constantFrom<unknown>(
    [{ role: "user", content: "a" }],
    [{ role: "assistant", tool_calls: [{ id: "a", type: "function" }] }],
    [{ role: "user", content: null }],
    [{ role: "user", content: [{ type: "text", text: "a" }] }],
    { include_usage: true },
    { include_usage: 1 },
    { sort: "price" },
    { sort: "other" },
    { address: `0x${"ab".repeat(20)}`, allow_fallbacks: false },
    { address: "0x12" },
    { lemma: [], path: [true] },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

type Change = { readonly at: number; readonly to: unknown; readonly isRemoved: boolean };
const changes = fc.array(
  fc.record({ at: fc.nat(), to: value, isRemoved: fc.boolean() }) satisfies fc.Arbitrary<Change>,
  { maxLength: 3 },
);

function changed(example: Record<string, unknown>, fields: readonly string[], list: readonly Change[]) {
  const body = { ...example };
  for (const { at, to, isRemoved } of list) {
    const field = fields[at % fields.length] ?? "";
    if (isRemoved) delete body[field];
    else body[field] = to;
  }
  return body;
}

test("every route with its own JSON parsing is compared", () => {
  const own = bodies.filter(({ name, schema }) => READERS[name] === undefined && !("shape" in schema));
  expect(own.map(({ name }) => name).filter((name) => !BEYOND_JSON_SCHEMA[name])).toEqual([
    "POST /v1/auth/signout",
    "POST /v1/webhooks/:id/test",
    "POST /v1/webhooks/:id/rotate-secret",
  ]);
});

test.each(bodies)("what $name accepts is what is published", async ({ name, schema, url, method }) => {
  const path = url.replace(/:(\w+)/g, "{$1}");
  const example = NOTES[name]?.example as Record<string, unknown>;
  const published = check.bodyOf(`${method} ${path}`, JSON_TYPE);
  const fields = [...Object.keys(published.properties), "something_else"];
  const read = READERS[name] ?? ((bytes: Buffer) => schema.parse(JSON.parse(bytes.toString("utf8"))));
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const body = changed(example, fields, list);
      const fault = await faultOf(read, body);
      const isTaken = fault === undefined;
      if (!isTaken && BEYOND_JSON_SCHEMA[name]?.test(fault)) return;
      expect(published.takes(body), `${JSON.stringify(body).slice(0, 500)} ${fault}`).toBe(isTaken);
    }),
    { numRuns: 500, seed: 7 },
  );
});

test.each(["####", "AAA", "AA=A", "AAAA\n", "__-_"])(
  "a segment whose data is %j is refused, and its description says so",
  async (data) => {
    const name = "POST /file/segment";
    const body = { ...(NOTES[name]?.example as object), data };
    const schema = bodies.find((body) => body.name === name)?.schema;
    expect(schema?.safeParse(body).success).toBe(false);
    expect(check.bodyOf(name, JSON_TYPE).takes(body)).toBe(false);
  },
);

test("no list is described as accepting an empty cursor, which none issues", () => {
  type Parameter = { readonly name: string; readonly schema: { readonly minLength?: number } };
  const operations = check.operations as readonly (readonly [
    string,
    { parameters?: readonly Parameter[] },
  ])[];
  const cursors = operations.flatMap(([name, { parameters = [] }]) =>
    parameters.flatMap((parameter) => (parameter.name === "cursor" ? [{ name, ...parameter.schema }] : [])),
  );
  expect(cursors.length).toBeGreaterThan(3);
  for (const { name, minLength } of cursors) expect(minLength, name).toBe(1);
});

/** The invalid field; undefined for an accepted body. */
async function faultOf(read: (bytes: Buffer) => unknown, body: unknown): Promise<string | undefined> {
  try {
    await read(Buffer.from(JSON.stringify(body)));
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.param ?? "";
    const [issue] = (error as { issues?: readonly { path: readonly PropertyKey[] }[] }).issues ?? [];
    if (!issue) throw error;
    return issue.path.map(String).join(".");
  }
}
