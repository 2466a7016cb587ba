// @module-tag large
import { connect } from "node:net";
import { ApolloClient, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { Defer20220824Handler, GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isInParts, type ResultInParts } from "../../../gateway/federation/engine/incremental/parts.ts";
import type { Graph } from "../../../gateway/federation/graph.ts";
import { Introspections } from "../../../gateway/federation/introspections.ts";
import { toSupergraphDocument } from "../../../gateway/federation/supergraph-source.ts";
import { createServer } from "../../../gateway/server.ts";
import { scaled } from "../../support/machine.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";
import { type Federation, startFederation } from "../engine/support/federation.ts";
import { createSlowPeople, MANY, PEOPLE } from "../engine/support/slow-people.ts";

type Urql = {
  createClient(options: object): {
    query(text: string, variables: object): { subscribe(onResult: (result: UrqlResult) => void): unknown };
  };
  readonly fetchExchange: unknown;
};
type UrqlResult = {
  readonly data?: unknown;
  readonly error?: { readonly graphQLErrors: readonly { readonly message: string }[] };
  readonly hasNext: boolean;
};
/** By a name that the compiler does not follow, as in `streaming-clients.ts`. */
const URQL: string = "urql";
const { createClient: createUrql, fetchExchange } = (await import(URQL)) as Urql;

const stack = useStack();
const { subgraphs, events, hold } = createSlowPeople();
let federation: Federation;
let origin: string;
const ends: (() => Promise<unknown>)[] = [];

/** The parts that were made after the first ones, and whether the last response ended. */
const made = { parts: 0, hasEnded: false };

function counted(rest: ResultInParts["rest"]): ResultInParts["rest"] {
  const { next, return: end } = rest;
  rest.next = () => {
    made.parts += 1;
    return next.call(rest);
  };
  rest.return = () => {
    made.hasEnded = true;
    return end?.call(rest) ?? Promise.resolve({ done: true, value: undefined });
  };
  return rest;
}

/** The product's gateway in front of the test's subgraphs. */
beforeAll(async () => {
  federation = await startFederation(subgraphs, "local");
  ends.unshift(() => federation.close());
  const { engine } = federation;
  const graph = {
    engine: {
      ...engine,
      async executeIncrementally(request: Parameters<typeof engine.executeIncrementally>[0]) {
        const result = await engine.executeIncrementally(request);
        return isInParts(result) ? { ...result, rest: counted(result.rest) } : result;
      },
    },
    apiSchema: federation.engine.apiSchema,
    supergraphSdl: federation.supergraphSdl,
    supergraph: toSupergraphDocument(federation.supergraphSdl),
    guardOf: () => undefined,
    introspections: new Introspections(),
    warmUp() {},
    close: async () => {},
  } as unknown as Graph;
  const { app } = stack();
  const config = { ...app.config, CLIENT_STALL_MS: scaled(300) };
  const server = await createServer({ ...app, config }, graph);
  ends.unshift(() => server.close());
  origin = await server.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  for (const end of ends) await end();
});
beforeEach(() => {
  events.length = 0;
  federation.failures.length = 0;
  Object.assign(made, { parts: 0, hasEnded: false });
  hold()();
});

const QUERY = `query Page { person { id name ... @defer(label: "slow") { score friends { id name } } } }`;
const FIRST = { person: { id: "1", name: "name 1" } };
const WHOLE = {
  person: {
    ...FIRST.person,
    score: 10,
    friends: [
      { id: "2", name: "name 2" },
      { id: "3", name: "name 3" },
    ],
  },
};

type Shown = (onData: (data: unknown) => void, onError: (error: unknown) => void) => unknown;

function byApollo(handler: object): (query: string) => Shown {
  return (query) => (onData, onError) => {
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: new HttpLink({ uri: `${origin}/graphql` }),
      incrementalHandler: handler as Defer20220824Handler,
    });
    return client
      .watchQuery({ query: gql(query), errorPolicy: "all" })
      .subscribe(({ data, error, dataState }) => {
        if (error) onError(error);
        if (dataState !== "empty") onData(data);
      });
  };
}

function byUrql(options: object): (query: string) => Shown {
  return (query) => (onData, onError) => {
    const client = createUrql({ url: `${origin}/graphql`, exchanges: [fetchExchange], ...options });
    return client.query(query, {}).subscribe(({ data, error }) => {
      if (error) onError(error);
      if (data) onData(data);
    });
  };
}

const CLIENTS: Readonly<Record<string, (query: string) => Shown>> = {
  "Apollo Client with its handler of 2022": byApollo(new Defer20220824Handler()),
  "Apollo Client with its current handler": byApollo(new GraphQL17Alpha9Handler()),
  "urql with its defaults": byUrql({}),
  "urql by POST over multipart": byUrql({
    preferGetMethod: false,
    fetchOptions: { headers: { accept: "multipart/mixed, application/graphql-response+json" } },
  }),
};

/** What a client shows, without the `__typename` that some add. */
function plain(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data, (key, value) => (key === "__typename" ? undefined : value)));
}

describe.each(Object.entries(CLIENTS))("%s", (_, open) => {
  test("shows the first part of a page before the slow subgraph answers, and the whole page after it", async () => {
    const release = hold();
    const shown: unknown[] = [];
    const errors: unknown[] = [];
    open(QUERY)(
      (data) => {
        shown.push(plain(data));
        events.push(`shown ${shown.length}`);
      },
      (error) => errors.push(error),
    );
    await until(() => events.includes("slow asked for 1") && shown.length > 0);
    expect(shown).toEqual([FIRST]);
    release();
    await until(() => shown.length > 1);
    expect(shown.at(-1)).toEqual(WHOLE);
    expect(errors).toEqual([]);
    expect(events.indexOf("shown 1")).toBeLessThan(events.indexOf("shown 2"));
  });

  test("shows the errors of a fragment", async () => {
    const errors: unknown[] = [];
    const shown: unknown[] = [];
    const query = "query Page { person { id ... @defer { broken score } } }";
    open(query)(
      (data) => shown.push(plain(data)),
      (error) => errors.push(error),
    );
    await until(() => errors.length > 0);
    expect(JSON.stringify(errors.map(String))).toContain("Something went wrong on our side.");
  });

  test("shows a streamed list that grows", async () => {
    const shown: unknown[] = [];
    open("query Page { people @stream(initialCount: 1) { id name } }")(
      (data) => shown.push(plain(data)),
      () => {},
    );
    const whole = { people: PEOPLE.map(({ id, name }) => ({ id, name })) };
    await until(() => shown.length > 1 && JSON.stringify(shown.at(-1)) === JSON.stringify(whole));
    expect(shown[0]).toEqual({ people: [{ id: "1", name: "name 1" }] });
  });
});

async function post(query: string, accept: string, path = "/graphql") {
  const reply = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: JSON.stringify({ query }),
  });
  return { status: reply.status, type: reply.headers.get("content-type"), text: await reply.text() };
}

const SHORT = `{ person { name ... @defer(label: "a") { score } } people @stream(initialCount: 2) { id } }`;
const DATA = '{"person":{"name":"name 1"},"people":[{"id":"1"},{"id":"2"}]}';

/** The JSON of each part of a multipart response. */
function partsOf(text: string): unknown[] {
  expect(text.endsWith("\r\n--graphql--\r\n")).toBe(true);
  return text
    .split("\r\n--graphql")
    .slice(1, -1)
    .map((part) => {
      const [head, json = ""] = part.split("\r\n\r\n");
      expect(head).toBe("\r\ncontent-type: application/json");
      return JSON.parse(json);
    });
}

describe("the response", () => {
  test.each(["multipart/mixed", "text/event-stream"])(
    "to a page by %s depends on its origin",
    async (accept) => {
      const page = "http://localhost:5173";
      const reply = await fetch(`${origin}/graphql`, {
        ...{ method: "POST", body: JSON.stringify({ query: SHORT }) },
        headers: { "content-type": "application/json", accept, origin: page },
      });
      await reply.text();
      expect(reply.headers.get("access-control-allow-origin")).toBe(page);
      expect(reply.headers.get("vary")).toBe("authorization, accept, origin");
    },
  );

  test("has ids in the current format", async () => {
    const { status, type, text } = await post(
      SHORT,
      "multipart/mixed;incrementalSpec=v0.2, application/json",
    );
    expect([status, type]).toEqual([200, 'multipart/mixed;boundary="graphql";incrementalSpec=v0.2']);
    const [first, ...others] = partsOf(text);
    const pending = [
      { id: "0", path: ["person"], label: "a" },
      { id: "1", path: ["people"] },
    ];
    expect(first).toEqual({ data: JSON.parse(DATA), pending, hasNext: true });
    expect(others).toEqual([
      { incremental: [{ id: "1", items: [{ id: "3" }] }], completed: [{ id: "1" }], hasNext: true },
      { incremental: [{ id: "0", data: { score: 10 } }], completed: [{ id: "0" }], hasNext: false },
    ]);
  });

  test("has paths and labels in the format of 2022", async () => {
    const { type, text } = await post(SHORT, "multipart/mixed;deferSpec=20220824, application/json");
    expect(type).toBe('multipart/mixed;boundary="graphql";deferSpec=20220824');
    expect(partsOf(text)).toEqual([
      { data: JSON.parse(DATA), hasNext: true },
      { incremental: [{ path: ["people", 2], items: [{ id: "3" }] }], hasNext: true },
      { incremental: [{ path: ["person"], label: "a", data: { score: 10 } }], hasNext: false },
    ]);
  });

  test.each([
    ["/graphql", "text/event-stream, application/json;q=0.5"],
    ["/graphql/stream", "text/event-stream"],
  ])("is a stream of events at %s, with ids and paths", async (path, accept) => {
    const { type, text } = await post(SHORT, accept, path);
    expect(type).toBe("text/event-stream; charset=utf-8");
    const parts = [...text.matchAll(/^event: next\ndata: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json));
    expect(parts).toMatchObject([
      { pending: [{ id: "0" }, { id: "1" }], hasNext: true },
      { incremental: [{ id: "1", path: ["people", 2], items: [{ id: "3" }] }] },
      { incremental: [{ id: "0", path: ["person"], data: { score: 10 } }], hasNext: false },
    ]);
    expect(text.endsWith("event: complete\ndata:\n\n")).toBe(true);
  });

  test.each([
    "application/json",
    "application/graphql-response+json",
    "*/*",
    "multipart/mixed;deferSpec=1, */*",
  ])("is whole for a client that accepts %s", async (accept) => {
    const { text, type } = await post(QUERY, accept);
    expect(type).toMatch(/^application\/(?:graphql-response\+)?json; charset=utf-8$/);
    expect(JSON.parse(text)).toEqual({ data: WHOLE });
  });

  test("is whole where nothing is postponed, and a single part for a client that accepts only parts", async () => {
    const query = "{ person { name ... @defer { address { city } } } }";
    const data = { person: { name: "name 1", address: { city: "city 1" } } };
    const whole = await post(query, "multipart/mixed, application/json");
    expect([whole.type, JSON.parse(whole.text)]).toEqual(["application/json; charset=utf-8", { data }]);
    expect(partsOf((await post(query, "multipart/mixed")).text)).toEqual([{ data, hasNext: false }]);
  });

  test("reports a fragment that fails at its end", async () => {
    const query = `{ person { name ... @defer(label: "bad") { strict } } }`;
    const error = { path: ["person", "strict"], extensions: { code: "internal_error" } };
    const [, current] = partsOf((await post(query, "multipart/mixed;incrementalSpec=v0.2")).text);
    expect(current).toMatchObject({ completed: [{ id: "0", errors: [error] }], hasNext: false });
    expect(current).not.toHaveProperty("incremental");
    const [, older] = partsOf((await post(query, "multipart/mixed;deferSpec=20220824")).text);
    expect(older).toMatchObject({
      incremental: [{ path: ["person"], label: "bad", data: null, errors: [error] }],
    });
  });
});

test.each([
  [
    "a label that is used twice",
    `{ person { ... @defer(label: "a") { id } ... @defer(label: "a") { score } } }`,
  ],
  ["a label in a variable", `query ($a: String) { person { ... @defer(label: $a) { id } } }`],
  ["a stream that is not a list", `{ person @stream { id } }`],
  ["a root field of a mutation", `mutation { ... @defer { rename(name: "a") { id } } }`],
  ["a deferred fragment with an unknown field", `{ person { ... @defer { nothing } } }`],
  [
    "a deferred fragment that is too deep",
    `{ person { ... @defer { ${"friends { ".repeat(11)} id ${"} ".repeat(11)} } } }`,
  ],
  [
    "a deferred fragment that costs too much",
    `{ people { ... @defer { ${"friends { ".repeat(5)} id ${"} ".repeat(5)} } } }`,
  ],
])("%s is refused before anything runs", async (_, query) => {
  federation.asked.length = 0;
  const { status, text } = await post(
    query,
    "multipart/mixed;deferSpec=20220824,application/graphql-response+json",
  );
  expect([status, JSON.parse(text).errors.length > 0]).toEqual([400, true]);
  expect(federation.asked).toEqual([]);
});

test("a client that leaves ends the requests of its fragments", async () => {
  const release = hold();
  const leaving = new AbortController();
  const reply = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "multipart/mixed" },
    body: JSON.stringify({ query: QUERY }),
    signal: leaving.signal,
  });
  await reply.body?.getReader().read();
  await until(() => events.includes("slow asked for 1"));
  expect(federation.failures).toEqual([]);
  leaving.abort();
  await until(() => federation.failures.length > 0);
  release();
});

test("a client that does not read is disconnected, after a part of its list was made", async () => {
  const query = "{ many @stream(initialCount: 0) { id name } }";
  const body = JSON.stringify({ query });
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  ends.unshift(async () => void socket.destroy());
  socket.on("error", () => {});
  const head = [
    "POST /graphql HTTP/1.1",
    "host: a",
    "content-type: application/json",
    "accept: multipart/mixed",
  ];
  socket.write(`${[...head, `content-length: ${body.length}`].join("\r\n")}\r\n\r\n${body}`);
  await until(() => made.hasEnded);
  expect(made.parts).toBeGreaterThan(0);
  // A part has at most 100 items.
  expect(made.parts).toBeLessThan(MANY / 100 / 2);
});
