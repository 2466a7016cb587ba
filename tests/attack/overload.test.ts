import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { rawRequest } from "../support/attack/attack.ts";
import { MODEL } from "../support/chain/network.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const MIB = 2 ** 20;
const stack = useStack({ CLIENT_STALL_MS: "1000" });
const memory = () => stack().app.load.memory;

const held: (() => void)[] = [];
afterEach(async () => {
  for (const release of held.splice(0)) release();
  await until(() => memory().usedBytes === 0);
});

/**
 * A call of which 300 KiB are reserved at least three times: short texts are kept as received, as text and as
 * values.
 */
const CALL = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "zgs_getStatus" },
  params: Array(100).fill("x".repeat(4_000)),
});

/** Reserves memory as running requests would. */
function hold(kind: "address" | "account", id: string, bytes: number): void {
  const lease = memory().open({ kind, id });
  lease.charge(bytes);
  held.push(() => lease.release());
}

/** What a raw connection receives until it is closed, or until enough has arrived. */
async function exchange(bytes: Buffer, isEnough: (text: string) => boolean = () => false): Promise<string> {
  const { hostname, port } = new URL(stack().origin);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (isEnough(text)) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
    socket.write(bytes);
  });
}

const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${stack().origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });

describe("while requests hold all available memory", () => {
  const REFUSED: readonly [string, () => Promise<Response>, (body: never) => unknown][] = [
    [
      "OpenAI's",
      () => fetch(`${stack().origin}/v1/models`),
      ({ error }: { error: { code: string } }) => error.code,
    ],
    ["Anthropic's", () => post("/v1/messages", "{}"), ({ error }: { error: { type: string } }) => error.type],
    [
      "GraphQL's",
      () => post("/graphql", '{"query":"{ __typename }"}'),
      ({ errors }: { errors: { extensions: { code: string } }[] }) => errors[0]?.extensions.code,
    ],
    [
      "JSON-RPC's",
      () => post("/", '{"jsonrpc":"2.0","id":1,"method":"zgs_getStatus"}'),
      ({ error }: { error: { code: number } }) => error.code,
    ],
    [
      "the storage gateway's",
      () => fetch(`${stack().origin}/file?root=0x00`),
      ({ code }: { code: number }) => code !== 0,
    ],
  ];

  test.each(REFUSED)(
    "a request is refused with 503 and Retry-After, in %s shape",
    async (_, send, codeOf) => {
      hold("account", "another", 256 * MIB);
      const reply = await send();
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(codeOf((await reply.json()) as never)).toBeTruthy();
    },
  );

  test("health is answered, and running requests continue", async () => {
    const { app, origin } = stack();
    const { secret } = await seedAccount(app.database, 10n ** 20n);
    const streamed = await post(
      "/v1/chat/completions",
      JSON.stringify({ model: MODEL, stream: true, messages: [{ role: "user", content: "Hello" }] }),
      { authorization: `Bearer ${secret}` },
    );
    hold("account", "another", 256 * MIB);
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    expect((await fetch(`${origin}/v1/models`)).status).toBe(503);
    expect(await streamed.text()).toContain("[DONE]");
  });
});

describe("memory shares", () => {
  test("an address that holds its share is refused, and others are served", async () => {
    expect((await post("/", CALL)).status).toBe(200);
    hold("address", "127.0.0.1", 85 * MIB);
    expect((await post("/", CALL)).status).toBe(503);
    expect((await post("/", CALL.replace(/\[.*\]/, "[]"))).status).toBe(200);
    held.splice(0).forEach((release) => {
      release();
    });
    hold("address", "192.0.2.1", 85 * MIB);
    expect((await post("/", CALL)).status).toBe(200);
  });

  test("a body counts against its key once the key is known, and not against the address", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 20n);
    hold("address", "127.0.0.1", 85 * MIB);
    const body = JSON.stringify({ model: "none", messages: [{ role: "user", content: "x".repeat(MIB) }] });
    const reply = await post("/v1/chat/completions", body, { authorization: `Bearer ${secret}` });
    expect(reply.status).toBe(404);
  });

  test("announced bytes are not reserved, and addresses together leave half to requests with a key", async () => {
    const { hostname, port } = new URL(stack().origin);
    const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${100 * MIB}\r\n\r\n{`;
    const sockets = Array.from({ length: 60 }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on("error", () => {}).write(head);
    expect((await fetch(`${stack().origin}/v1/models`)).status).toBe(200);
    expect(memory().usedBytes).toBeLessThan(MIB);
    for (const socket of sockets) socket.destroy();
    for (const address of ["192.0.2.1", "192.0.2.2"]) hold("address", address, 64 * MIB);
    expect((await post("/", CALL)).status).toBe(503);
    const { secret } = await seedAccount(stack().app.database, 10n ** 20n);
    const chat = JSON.stringify({ model: "none", messages: [{ role: "user", content: "x".repeat(MIB) }] });
    const reply = await post("/v1/chat/completions", chat, { authorization: `Bearer ${secret}` });
    expect(reply.status).toBe(404);
  });

  test("a chunked body is counted as it arrives", async () => {
    hold("address", "127.0.0.1", 85 * MIB - 200_000);
    const chunk = `${(MIB).toString(16)}\r\n${"x".repeat(MIB)}\r\n`;
    const head =
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    const answer = await exchange(Buffer.from(head + chunk), (text) => text.includes("\r\n\r\n"));
    expect(answer).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1/is);
  });
});

test("a large body is not read before its sender is permitted", async () => {
  const head = (authorization: string) =>
    Buffer.from(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${authorization}content-length: ${2 * MIB}\r\n\r\n`,
    );
  const isAnswered = (text: string) => text.includes("\r\n\r\n");
  expect(await exchange(head(""), isAnswered)).toMatch(/^HTTP\/1\.1 401/);
  expect(await exchange(head("authorization: Bearer sk-none\r\n"), isAnswered)).toMatch(/^HTTP\/1\.1 401/);
});

test("a client that reads nothing of its answers is disconnected, and its memory is released", async () => {
  const { hostname, port } = new URL(stack().origin);
  const socket = connect(Number(port), hostname).pause();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => {});
  const request = rawRequest("GET", "/openapi.json");
  socket.write(Buffer.concat(Array.from({ length: 60 }, () => request)));
  await until(() => memory().usedBytes > 0);
  await until(() => memory().usedBytes === 0);
  socket.resume();
  await closed;
});

describe("requests of one connection", () => {
  test("are answered in their order when they are pipelined", async () => {
    const requests = Array.from({ length: 20 }, (_, index) =>
      rawRequest("GET", index % 2 === 0 ? "/healthz" : `/v1/none-${index}`, "", {
        "x-request-id": `id-${index}`,
      }),
    );
    const count = (text: string) => text.match(/HTTP\/1\.1 /g)?.length ?? 0;
    const answer = await exchange(Buffer.concat(requests), (text) => count(text) === 20);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? "200" : "404")));
  });

  test("close the connection when there are too many at once, and affect no other", async () => {
    const request = rawRequest("GET", "/v1/models");
    const answer = await exchange(Buffer.concat(Array.from({ length: 1_000 }, () => request)));
    expect(answer.match(/HTTP\/1\.1 200/g)?.length ?? 0).toBeLessThan(100);
    expect((await fetch(`${stack().origin}/v1/models`)).status).toBe(200);
  });
});
