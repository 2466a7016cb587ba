import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { build } from "vite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  ConnectionLost,
  createClient,
  execute,
  multipart,
  OperationRefused,
  openaiConfig,
  serverSentEvents,
  type TypedDocument,
  webSocket,
} from "../../packages/client/src/index.ts";
import { KEYS } from "../support/client/key-events.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const WHO: TypedDocument<{ viewer: { kind: string } }, object> = "{ viewer { kind } }";

/** A server that answers one request after the other, the last answer again and again. */
async function startServer(...answers: readonly Answer[]) {
  const requests: { authorization: string | undefined; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    requests.push({ authorization: request.headers.authorization, body });
    answer?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : "";
  return { url: `http://127.0.0.1:${port}`, requests };
}

const reset: Answer = (request) => request.socket.destroy();
const json =
  (status: number, body: object, headers = {}): Answer =>
  (_, response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
const OK = json(200, { data: { viewer: { kind: "ANONYMOUS" } } });

describe("requests to the product", () => {
  test("a query brings its data, and a refusal its code and the server's errors", async () => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    const client = createClient({ url: stack().origin, credential: secret });
    await expect(client.query(WHO)).resolves.toEqual({ viewer: { kind: "API_KEY" } });
    const refusal = client.query("{ viewer { account { apiKeys(first: 1) { nodes { id } } } } }");
    await expect(refusal).rejects.toMatchObject({
      name: "OperationRefused",
      code: "insufficient_scope",
      errors: [{ extensions: { code: "insufficient_scope" } }],
    });
    await expect(client.mutate("mutation { nothing }")).rejects.toMatchObject({
      code: "GRAPHQL_VALIDATION_FAILED",
    });
  });

  test("a wrong credential is refused by its code, also one that a function gives for each request", async () => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    const credentials = ["sk-wrong", secret];
    const client = createClient({
      url: `${stack().origin}/graphql/`,
      credential: async () => credentials.shift(),
    });
    await expect(client.query(WHO)).rejects.toMatchObject({ code: "invalid_api_key", status: 401 });
    await expect(client.query(WHO)).resolves.toMatchObject({ viewer: { kind: "API_KEY" } });
  });
});

describe("the time of a request", () => {
  test.each([Number.POSITIVE_INFINITY, 30 * 86_400_000, 59_999.5])("may be %d ms", async (timeoutMs) => {
    const { url } = await startServer((_, response) => void setTimeout(() => OK(_, response), 50));
    const client = createClient({ url });
    await expect(client.query(WHO, {}, { timeoutMs })).resolves.toEqual({ viewer: { kind: "ANONYMOUS" } });
  });

  test("is refused by its name where it is not a number", async () => {
    const client = createClient({ url: "http://127.0.0.1:1" });
    await expect(client.query(WHO, {}, { timeoutMs: Number.NaN })).rejects.toThrow(
      "timeoutMs: NaN is not a number of at least 0.",
    );
  });
});

const TRANSPORTS = [
  ["WebSocket", webSocket()],
  ["server-sent events", serverSentEvents()],
  ["multipart", multipart()],
] as const;

describe("an error of the caller's own credential function", () => {
  const own = new TypeError("the token service is down");

  function failing(transport = webSocket()) {
    const credential = vi.fn(async () => {
      throw own;
    });
    const client = createClient({ url: stack().origin, credential, transport });
    onTestFinished(() => client.dispose());
    return { client, credential };
  }

  test("rejects a query, a mutation and their parts with it, without another attempt", async () => {
    const { client, credential } = failing();
    await expect(client.query(WHO)).rejects.toBe(own);
    await expect(client.mutate("mutation { nothing }")).rejects.toBe(own);
    await expect(execute(client, WHO, {}).next()).rejects.toBe(own);
    expect(credential).toHaveBeenCalledTimes(3);
  });

  test.each(TRANSPORTS)("ends a subscription with it over %s", async (_, transport) => {
    for (const document of ["subscription { blockAdded { number } }", KEYS]) {
      const { client, credential } = failing(transport);
      const events = client.subscribe(document, {});
      await expect(events.next()).rejects.toBe(own);
      expect([events.state, events.error]).toEqual(["ended", own]);
      expect(credential).toHaveBeenCalledTimes(1);
    }
  });

  test("that is no Error is its message", async () => {
    const client = createClient({ url: stack().origin, credential: () => Promise.reject("signed out") });
    await expect(client.query(WHO)).rejects.toMatchObject({ message: "signed out" });
  });
});

describe("a credential function that does not return", () => {
  const never = () => new Promise<string>(() => {});

  test("delays no query, mutation or part beyond its timeout, and nothing is sent", async () => {
    const { url, requests } = await startServer(OK);
    const client = createClient({ url, credential: never });
    const options = { timeoutMs: 50 };
    await expect(client.query(WHO, {}, options)).rejects.toBeInstanceOf(ConnectionLost);
    await expect(client.mutate("mutation { x }", {}, options)).rejects.toBeInstanceOf(ConnectionLost);
    await expect(execute(client, WHO, {}, options).next()).rejects.toBeInstanceOf(ConnectionLost);
    expect(requests).toEqual([]);
  });

  test("ends with the signal of its request", async () => {
    const leaving = new AbortController();
    const query = createClient({ url: stack().origin, credential: never }).query(
      WHO,
      {},
      { signal: leaving.signal },
    );
    leaving.abort(new Error("left"));
    await expect(query).rejects.toThrow("left");
  });
});

/** Variables of which there is no JSON: they contain themselves. */
function endless(): object {
  const variables = { n: {} };
  variables.n = variables;
  return variables;
}

describe("what cannot be sent", () => {
  const url = "http://127.0.0.1:1";

  test.each(["router.example", "127.0.0.1:4000", "localhost:4000", "ftp://router.example", ""])(
    "the address %j is refused",
    (wrong) => {
      expect(() => createClient({ url: wrong })).toThrow(TypeError);
      expect(() => openaiConfig({ url: wrong, credential: "sk-1" })).toThrow(TypeError);
    },
  );

  test.each(["/", "/graphql"])("a path of the page's own server, %s, is an address", (path) => {
    expect(createClient({ url: path }).url).toBe("/graphql");
  });

  test("a credential or variables that no request can have are refused, and not sent again", async () => {
    const broken = createClient({ url, credential: "sk-\u00fc\n" });
    await expect(broken.query(WHO)).rejects.toMatchObject({
      name: "OperationRefused",
      code: "invalid_credential",
    });
    const client = createClient({ url });
    const query: TypedDocument<unknown, object> = "query ($n: JSON) { viewer(n: $n) { kind } }";
    await expect(client.query(query, endless())).rejects.toMatchObject({ code: "invalid_variables" });
  });

  test.each(TRANSPORTS)("a subscription with such variables ends over %s", async (_, transport) => {
    const client = createClient({ url, transport });
    onTestFinished(() => client.dispose());
    const document: TypedDocument<unknown, object> =
      "subscription ($n: JSON) { blockAdded(n: $n) { number } }";
    const events = client.subscribe(document, endless());
    await expect(events.next()).rejects.toMatchObject({ code: "invalid_variables" });
  });
});

describe("requests to a server that fails", () => {
  test("a query is repeated until the server answers, with the same credential and body", async () => {
    const overloaded = json(503, { errors: [{ message: "busy", extensions: { code: "overloaded" } }] });
    const { url, requests } = await startServer(reset, overloaded, OK);
    await expect(createClient({ url, credential: "sk-1" }).query(WHO)).resolves.toBeDefined();
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map((request) => JSON.stringify(request))).size).toBe(1);
    expect(requests[0]?.authorization).toBe("Bearer sk-1");
  });

  test("a query gives up after four attempts, with the server's reason", async () => {
    const { url, requests } = await startServer(
      json(503, { errors: [{ message: "busy", extensions: { code: "overloaded" } }] }),
    );
    const refusal = createClient({ url }).query(WHO);
    await expect(refusal).rejects.toMatchObject({ name: "ConnectionLost", code: "overloaded", status: 503 });
    expect(requests).toHaveLength(4);
  });

  test("a mutation is sent once, as it may have arrived", async () => {
    const { url, requests } = await startServer(reset, OK);
    await expect(createClient({ url }).mutate("mutation { x }")).rejects.toBeInstanceOf(ConnectionLost);
    expect(requests).toHaveLength(1);
  });

  test("a request ends with its signal, also during a pause that the server asked for", async () => {
    const { url, requests } = await startServer(json(429, {}, { "retry-after": "3600" }));
    const leaving = new AbortController();
    const query = createClient({ url }).query(WHO, {}, { signal: leaving.signal });
    await expect.poll(() => requests.length).toBe(1);
    leaving.abort(new Error("left"));
    await expect(query).rejects.toThrow("left");
  });

  test("a page in the place of an answer is an error with its status", async () => {
    const { url } = await startServer((_, response) => void response.writeHead(404).end("<html>"));
    const query = createClient({ url }).query(WHO);
    await expect(query).rejects.toMatchObject({ name: "OperationRefused", status: 404 });
    await expect(query).rejects.toBeInstanceOf(OperationRefused);
  });
});

test("openaiConfig takes an origin or the address of the graph, and refuses what is no sk- key", () => {
  const config = { baseURL: "https://router.example/v1", apiKey: "sk-1" };
  for (const url of ["https://router.example", "https://router.example/", "https://router.example/graphql"])
    expect(openaiConfig({ url, credential: "sk-1" })).toEqual(config);
  expect(() => openaiConfig({ url: "https://router.example", credential: "mk-1" })).toThrow("sk-");
});

test("a page that uses one transport and no documents of its own gets no code of the others", async () => {
  const bundle = await bundled(`
    import { createClientWith, serverSentEvents } from "./packages/client/src/index.ts";
    globalThis.client = createClientWith(serverSentEvents(), { url: "" });
  `);
  expect(bundle).toContain("text/event-stream");
  for (const foreign of ["graphql-transport-ws", "subscriptionSpec", "baseURL"])
    expect(bundle).not.toContain(foreign);
  expect(bundle.length).toBeLessThan(26_000);
});

/** The minified module of a page. */
async function bundled(code: string): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: "error",
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? `${process.cwd()}/page.ts` : undefined),
        load: (id) => (id.endsWith("/page.ts") ? code : undefined),
      },
    ],
    build: { write: false, minify: true, rolldownOptions: { input: "page" } },
  });
  const [output] = Array.isArray(result) ? result : [result];
  if (!output || !("output" in output)) throw new Error("nothing was built");
  return output.output.map((chunk) => ("code" in chunk ? chunk.code : "")).join("");
}
