// @module-tag large
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { buildSchema, getNamedType, isEnumType, isInputObjectType } from "graphql";
import { createClient } from "graphql-ws";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { openGraph } from "../../../gateway/federation/graph.ts";
import { createServer as createGateway } from "../../../gateway/server.ts";
import { useStack } from "../../support/stack.ts";

const open = useStack({ INTROSPECTION: "on" });
const closed = useStack({ INTROSPECTION: "off" });

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Asked = { readonly query: string; readonly variables?: object };

/** Documents with a name close to one of the schema, and the names that an error could suggest. */
const WRONG: Readonly<Record<string, Asked & { readonly hidden: readonly string[] }>> = {
  "a field": { query: "{ modelz { nodes { id } } }", hidden: ["models", "model"] },
  "a field of a type": { query: "{ network { nam } }", hidden: ["name", "Network"] },
  "a missing selection": { query: "{ network }", hidden: ["Network"] },
  "a type": { query: "query ($v: ModelFilterr, $w: RoutingInputt) { __typename }", hidden: ["RoutingInput"] },
  "a type of a fragment": { query: "{ ...f } fragment f on Querry { __typename }", hidden: [] },
  "an argument": { query: "{ models(frist: 1) { nodes { id } } }", hidden: ["first"] },
  "a missing argument": { query: "{ model { id } }", hidden: ["Model"] },
  "a literal of an enum": {
    query: "{ routingPreview(serviceType: CHATBOTT) { __typename } }",
    hidden: ["CHATBOT", "ServiceType"],
  },
  "a variable of an enum": {
    query: "query ($s: ServiceType!) { routingPreview(serviceType: $s) { __typename } }",
    variables: { s: "CHATBOTT" },
    hidden: ["CHATBOT", "TEXT_TO_IMAGE"],
  },
  "a field of an input": {
    query: "mutation { completeChat(input: { modell: 1, messages: [] }) { __typename } }",
    hidden: ["model", "ChatInput"],
  },
  "a field of an input in a variable": {
    query: "mutation ($i: CompleteChatInput!) { completeChat(input: $i) { __typename } }",
    variables: { i: { modell: "x", 'mes"sages': [] } },
    hidden: ["model", "messages", "ChatMessageInput"],
  },
  "a type of a variable": {
    query: "mutation ($i: Int) { completeChat(input: $i) { __typename } }",
    hidden: ["ChatInput"],
  },
  "a directive": { query: "{ network { name @includ(if: true) } }", hidden: ["include"] },
  "the schema": { query: "{ __schema { types { name } } }", hidden: ["ChatInput"] },
};

type FetchText = (origin: string, asked: Asked) => Promise<string>;

const post =
  (path: string, accept: string): FetchText =>
  async (origin, asked) => {
    const reply = await fetch(origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", accept },
      body: JSON.stringify(asked),
    });
    return reply.text();
  };

const TRANSPORTS: Readonly<Record<string, FetchText>> = {
  HTTP: post("/graphql", "application/json"),
  "HTTP, negotiated": post("/graphql", "application/graphql-response+json"),
  GET: async (origin, { query, variables }) => {
    const search = new URLSearchParams({ query, variables: JSON.stringify(variables ?? {}) });
    const headers = { "apollo-require-preflight": "true" };
    return (await fetch(`${origin}/graphql?${search}`, { headers })).text();
  },
  multipart: post("/graphql", "multipart/mixed;subscriptionSpec=1.0,application/json"),
  "server-sent events": post("/graphql/stream", "text/event-stream"),
  WebSocket: async (origin, asked) => {
    const url = `${origin.replace("http", "ws")}/graphql`;
    const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0 });
    ends.push(() => client.dispose());
    const payload = { query: asked.query, ...(asked.variables && { variables: { ...asked.variables } }) };
    return new Promise((resolve) =>
      client.subscribe(payload, {
        next: (result) => resolve(JSON.stringify(result)),
        error: (reason) => resolve(JSON.stringify(reason)),
        complete() {},
      }),
    );
  },
};

describe.each(Object.keys(TRANSPORTS))("with introspection off, over %s,", (transport) => {
  const ask = TRANSPORTS[transport] ?? (() => Promise.reject(new Error("no such transport")));

  test.each(Object.entries(WRONG))("%s that is wrong reveals no name", async (_, { hidden, ...asked }) => {
    const text = (await ask(closed().origin, asked)).replaceAll('\\"', '"');
    expect(text).toContain('"message"');
    expect(text).not.toContain("Did you mean");
    for (const name of hidden) expect(text).not.toMatch(new RegExp(`\\b${name}\\b`));
  });
});

test("no answer has a schema name that the client did not write, whatever field is queried", async () => {
  const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
  const ask = TRANSPORTS.HTTP ?? (() => Promise.reject(new Error("no such transport")));
  const enums = Object.values(schema.getTypeMap()).filter(isEnumType);
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
  for (const type of [...enums, ...inputs].filter(({ name }) => !name.startsWith("__"))) {
    const query = `query ($v: ${type.name}) { __typename @include(if: $v) }`;
    const { errors } = JSON.parse(await ask(closed().origin, { query, variables: { v: "x" } }));
    const text = errors.map(({ message }: { readonly message: string }) => message).join(" ");
    const schemaNames = isEnumType(type)
      ? type.getValues().map(({ name }) => name)
      : Object.values(type.getFields()).flatMap((field) => [field.name, getNamedType(field.type).name]);
    for (const name of schemaNames.filter((one) => one.length > 6 && one !== "Boolean"))
      expect(text).not.toContain(name);
  }
});

test("with introspection on, names are suggested", async () => {
  const ask = TRANSPORTS.HTTP ?? (() => Promise.reject(new Error("no such transport")));
  expect(await ask(open().origin, { query: "{ modelz { nodes { id } } }" })).toContain("Did you mean");
});

describe("a subgraph of another release", () => {
  let origin = "";
  const answer = { message: 'Cannot query field "x" on type "Hidden". Did you mean "secretField"?' };
  let code: string;
  beforeAll(async () => {
    const subgraph = createServer((_request, response) =>
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ data: null, errors: [{ ...answer, extensions: { code } }] })),
    );
    await new Promise<void>((resolve) => subgraph.listen(0, "127.0.0.1", resolve));
    const address = subgraph.address();
    const place = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const names = ["accounts", "inference", "storage", "chain"];
    const urls = Object.fromEntries(names.map((name) => [name, place]));
    const graph = await openGraph(
      { kind: "remote", urls, secret: "a secret of tests, long enough" },
      closed().app,
    );
    const gateway = await createGateway(closed().app, graph);
    origin = await gateway.listen({ host: "127.0.0.1", port: 0 });
    return async () => {
      await gateway.close();
      await graph.close();
      subgraph.closeAllConnections();
      subgraph.close();
    };
  });

  test.each(["GRAPHQL_VALIDATION_FAILED", "not_found"])("with the code %s reveals no name", async (given) => {
    code = given;
    const reply = await fetch(`${origin}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"query":"{ network { name } }"}',
    });
    const text = await reply.text();
    expect(text).toContain('"errors"');
    expect(text).not.toContain("secretField");
  });
});

const HTML = { accept: "text/html,application/xhtml+xml" };

describe.each(["on", "off"])("with introspection %s", (introspection) => {
  const origin = () => (introspection === "on" ? open() : closed()).origin;

  test.each([
    "/",
    "/graphql",
    "/graphql?query=%7Bx%7D",
    "/graphql/stream",
    "/schema.graphql",
    "/docs",
    "/docs/",
    "/docs/static/index.html",
    "/dashboard",
    "/dashboard/",
    "/dashboard/keys",
    "/nothing",
    "/healthz",
    "/openapi.json",
  ])("the page at %s loads nothing from another host", async (path) => {
    const reply = await fetch(origin() + path, { headers: HTML });
    const text = await reply.text();
    if (!reply.headers.get("content-type")?.startsWith("text/html")) return;
    const policy = reply.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src");
    expect(policy).not.toMatch(/https?:|\*|[a-z]\.[a-z]/);
    expect(text).not.toMatch(/<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?\/\//);
  });
});

test("with introspection off, the explorer and the schema are not served", async () => {
  const { origin } = closed();
  const page = await fetch(`${origin}/graphql`, { headers: HTML });
  expect([page.status, page.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  expect(await page.text()).not.toMatch(/Explorer|<script/);
  expect((await fetch(`${origin}/schema.graphql`)).status).toBe(404);
  expect((await fetch(`${origin}/docs/`)).status).toBe(200);
  expect((await fetch(`${open().origin}/schema.graphql`)).status).toBe(200);
});
