import { createServer, type ServerResponse } from "node:http";
import { Environment, fetchQuery, Network, RecordSource, Store } from "relay-runtime";
import { describe, expect, onTestFinished, test } from "vitest";
import pageQuery from "../../examples/relay-requests/src/__generated__/pageQuery.graphql.ts";
import { createClient, execute } from "../../packages/client/src/index.ts";
import { RelayResponses } from "../../packages/client/src/relay/responses.ts";
import { relayNetwork } from "../../packages/client/src/relay.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

describe("the responses for Relay", () => {
  const QUERY = `
    query Page { person { id friends @stream(label: "Page$stream$friends", initialCount: 1) { ...Name } ...Slow @defer(label: "Page$defer$Slow") } }
    fragment Name on Person { id ... @defer(label: "Name$defer") { name } }
    fragment Slow on Person { alias: score ... on Person @defer(label: "Slow$defer$inner") { age } }`;
  const slow = { label: "Page$defer$Slow", path: ["person"] };
  const friends = { label: "Page$stream$friends", path: ["person", "friends"] };

  test("have the label and the path of each fragment and item that is delivered later", () => {
    const responses = new RelayResponses(QUERY);
    const data = { person: { id: "1", friends: [] } };
    const pending = [
      { id: "0", ...slow },
      { id: "1", ...friends },
    ];
    expect(responses.of({ data, pending, hasNext: true })).toEqual([{ data }]);
    const items = [{ id: "2", name: "b" }, null, { id: "4", name: "d" }];
    const delivered = { id: "1", label: friends.label, path: [...friends.path, 0], items };
    const name = (at: number) => ({ label: "Name$defer", path: [...friends.path, at], data: items[at] });
    expect(responses.of({ incremental: [delivered], hasNext: true })).toEqual([
      { data: items[0], label: friends.label, path: [...friends.path, 0] },
      name(0),
      { data: items[2], label: friends.label, path: [...friends.path, 2] },
      name(2),
    ]);
    const part = { data: { alias: 10 }, errors: [{ message: "no age" }] };
    const inner = { id: "2", label: "Slow$defer$inner", path: ["person"] };
    expect(responses.of({ incremental: [{ id: "0", ...slow, ...part }], pending: [inner] })).toEqual([
      { ...part, ...slow },
    ]);
    const errors = [{ message: "lost" }];
    expect(responses.of({ completed: [{ id: "0" }, { id: "2", errors }], hasNext: false })).toEqual([
      { data: null, errors, label: inner.label, path: inner.path },
    ]);
  });

  test("have a response for each fragment that comes with what is around it", () => {
    const person = { id: "1", alias: 10, age: 3, friends: [{ id: "2", name: "b" }] };
    expect(new RelayResponses(QUERY).of({ data: { person } })).toEqual([
      { data: { person } },
      { label: "Name$defer", path: ["person", "friends", 0], data: person.friends[0] },
      { ...slow, data: person },
      { label: "Slow$defer$inner", path: ["person"], data: person },
    ]);
  });

  test("are what the server sent for operations without these directives, and for refusals", () => {
    const responses = new RelayResponses("{ person { id } }");
    const errors = [{ message: "refused" }];
    expect(responses.of({ data: { person: null } })).toEqual([{ data: { person: null } }]);
    expect(responses.of({ errors })).toEqual([{ data: undefined, errors }]);
    expect(responses.of({ hasNext: false })).toEqual([]);
  });
});

test("a page of Relay has its first part before its fragment with @defer, and then the whole", async () => {
  const { account, secret } = await seedAccount(stack().app.database, 42n);
  const mk = await stack().app.managementKeys.create(account, "page", ["account:read"]);
  const { environment, order } = openEnvironment(mk.secret);
  const shown = await shownBy(environment);
  expect(order).toEqual([undefined, "pageQuery$defer$chain_account"]);
  expect(shown.length).toBe(2);
  expect(environment.getStore().getSource().toJSON()).toMatchObject({
    [shown[1]?.viewer?.account?.__id ?? ""]: { __typename: "Account", marketBalance: "0" },
  });

  // What an sk- key may not read is null, beside its error, and the rest is shown.
  const [partial] = await shownBy(openEnvironment(secret).environment);
  expect(partial).toMatchObject({ eventCursor: expect.any(String), viewer: { account: null } });
  await expect(shownBy(openEnvironment("sk-wrong").environment)).rejects.toMatchObject({
    code: "invalid_api_key",
  });
});

type PageData = {
  readonly eventCursor: string;
  readonly viewer: { readonly account: { readonly __id: string } | null };
};

/** What a page shows, one after the other. */
async function shownBy(environment: Environment): Promise<readonly PageData[]> {
  const shown: PageData[] = [];
  await new Promise<void>((complete, error) => {
    fetchQuery(environment, pageQuery, {}).subscribe({
      next: (data) => void shown.push(data as unknown as PageData),
      complete,
      error,
    });
  });
  return shown;
}

/** An environment on the product, and the labels of what its network delivers, in order. */
function openEnvironment(credential: string) {
  const network = relayNetwork({ url: stack().origin, credential });
  const order: unknown[] = [];
  const observed = Network.create((request, variables, cacheConfig) =>
    network.execute(request, variables, cacheConfig).do({
      next: (response) =>
        void order.push(...[response].flat().map((one) => ("label" in one ? one.label : undefined))),
    }),
  );
  const environment = new Environment({ network: observed, store: new Store(new RecordSource()) });
  return { environment, order };
}

describe("execute", () => {
  const PARTS = ['{"data":{"a":1},"hasNext":true}', '{"incremental":[],"hasNext":false}'];
  const multipart = { "content-type": 'multipart/mixed;boundary="graphql"' };
  const text = PARTS.map((part) => `\r\n--graphql\r\ncontent-type: application/json\r\n\r\n${part}`).join("");

  test("yields each part when it arrives, however the response is cut", async () => {
    const { client, response } = await startServer();
    const parts = execute(client, "{ a }");
    const first = parts.next();
    const open = await response;
    open.writeHead(200, multipart);
    const end = text.indexOf("\r\n--graphql", 2) + 11;
    for (const character of text.slice(0, end)) open.write(character);
    expect(await first).toEqual({ done: false, value: JSON.parse(PARTS[0] ?? "") });
    open.end(`${text.slice(end)}\r\n--graphql--\r\n`);
    expect((await parts.next()).value).toEqual(JSON.parse(PARTS[1] ?? ""));
    expect(await parts.next()).toEqual({ done: true, value: undefined });
  });

  test("reads a response that begins with its boundary, however it is cut", async () => {
    const body = new ReadableStream({
      start(chunks) {
        for (const character of `${text.slice(2)}\r\n--graphql--`)
          chunks.enqueue(new TextEncoder().encode(character));
        chunks.close();
      },
    });
    const client = createClient({
      url: "http://127.0.0.1",
      fetch: async () => new Response(body, { headers: multipart }),
    });
    const parts: unknown[] = [];
    for await (const part of execute(client, "{ a }")) parts.push(part);
    expect(parts).toEqual(PARTS.map((part) => JSON.parse(part)));
  });

  test("throws ConnectionLost when the response breaks off, and ends the request of a reader that leaves", async () => {
    const { client, response } = await startServer();
    const parts = execute(client, "{ a }");
    const first = parts.next();
    const open = await response;
    open.writeHead(200, multipart).write(`${text}\r\n--graphql`);
    await first;
    await parts.next();
    open.destroy();
    await expect(parts.next()).rejects.toMatchObject({ name: "ConnectionLost" });

    const other = await startServer();
    const left = execute(other.client, "{ a }");
    const begun = left.next();
    const held = await other.response;
    held.writeHead(200, multipart).write(`${text}\r\n--graphql`);
    await begun;
    await left.return?.();
    await expect.poll(() => held.destroyed || held.closed).toBe(true);
  });
});

/** A server that leaves its only response to the test. */
async function startServer() {
  const { promise: response, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_, answer) => resolve(answer));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : "";
  return { client: createClient({ url: `http://127.0.0.1:${port}` }), response };
}
