// @module-tag large
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { routes } from "../../src/rest/routes.ts";
import { MODEL } from "../support/chain/network.ts";
import { chunkOf } from "../support/chunk.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const MIB = 1_048_576;
/** More than the buffers of both sockets hold: a client that only writes waits until the server reads. */
const BODY_BYTES = 12 * MIB;
const stack = useStack({ MAX_PROMPT_MIB: "1", MAX_BODY_MIB: "1", BATCH_FILE_MIB: "1" });

const CHUNKED = "transfer-encoding: chunked";
const FORM = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;

const all = [
  ...routes.filter(({ method }) => method !== "GET"),
  ...["/graphql", "/graphql/stream", "/mcp", "/dashboard/session", "/nothing", "/%zz"].map((url) => {
    return { method: "POST", url };
  }),
];
/** One of each way to read a body. */
const some = all.filter(({ url }) =>
  [
    "/v1/chat/completions",
    "/v1/images/edits",
    "/v1/files",
    "/",
    "/graphql",
    "/mcp",
    "/nothing",
    "/%zz",
  ].includes(url),
);
const json = ["content-type: application/json"];
const form = ["content-type: multipart/form-data; boundary=b"];

/** Most clients (Python's requests, Java's HttpURLConnection) read nothing before they have sent the whole body. */
test.each([
  ["JSON", all, json, `{"model":"`],
  ["a form", some, form, FORM],
  ["a form that is not well-formed", some, form, ""],
  ["an unknown type", some, ["content-type: text/unknown"], ""],
  ["a compressed body", some, [...json, "content-encoding: gzip"], ""],
  ["JSON in chunks", some, [...json, CHUNKED], `{"model":"`],
  ["a form in chunks", some, [...form, CHUNKED], FORM],
  ["a form that is not well-formed in chunks", some, [...form, CHUNKED], ""],
  ["JSON with an unknown Expect", some, [...json, "expect: anything"], ""],
  ["JSON on a connection for one request", some, [...json, "connection: close"], `{"model":"`],
  ["a form on a connection for one request", some, [...form, "connection: close"], FORM],
])("a client that reads only after it has sent %s gets its answer", async (_, tried, headers, start) => {
  const { secret } = await seedAccount(stack().app.database, 1n);
  const isChunked = headers.includes(CHUNKED);
  const size = isChunked ? [] : [`content-length: ${BODY_BYTES}`];
  for (const { method, url } of tried)
    for (const credential of [[], [`authorization: Bearer ${secret}`]]) {
      const path = url.replace(/:[A-Za-z]+|\*/g, "x");
      const socket = connect(Number(new URL(stack().origin).port), "127.0.0.1");
      await once(socket, "connect");
      await send(
        socket,
        [`${method} ${path} HTTP/1.1`, "host: a", ...size, ...credential, ...headers],
        start,
      );
      const status = await statusOf(socket);
      // JSON-RPC has its errors in the body.
      const isTold = path === "/" ? [200, 413, 415, 417].includes(status) : status >= 400 && status < 500;
      expect([method, path, status, isTold]).toEqual([method, path, status, true]);
      socket.destroy();
    }
});

test.each(["/nothing", "/%zz", "/v1/chat/completions"])(
  "the rest of a body that is refused at %s gets no second response, whatever is wrong with it",
  async (path) => {
    for (const rest of ["zz\r\n", ""]) {
      const socket = connect(Number(new URL(stack().origin).port), "127.0.0.1");
      let text = "";
      socket.setEncoding("latin1").on("data", (chunk: string) => {
        text += chunk;
      });
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${CHUNKED}\r\n\r\n1\r\n{\r\n`,
      );
      await until(async () => text.includes('"request_id"'));
      socket.end(rest);
      await once(socket, "close");
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }
  },
);

test("what is malformed behind a request whose stream is being sent writes nothing into the stream", async () => {
  const { secret } = await seedAccount(stack().app.database, 10n ** 18n);
  stack().provider.behaviour = { chunkDelayMs: 100 };
  const body = JSON.stringify({ model: MODEL, stream: true, messages: [{ role: "user", content: "Hello" }] });
  const socket = connect(Number(new URL(stack().origin).port), "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await until(async () => text.includes("data: "));
  socket.write("not HTTP\r\n\r\n");
  await once(socket, "close");
  stack().provider.behaviour = {};
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

/** Sends a request with a body of `BODY_BYTES` as a blocking client does: it waits while its socket is full. */
async function send(socket: Socket, head: readonly string[], start: string) {
  const isChunked = head.includes(CHUNKED);
  socket.pause();
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const part = Buffer.alloc(MIB, "x");
  let left = BODY_BYTES;
  for (let bytes = Buffer.from(start); left > 0; bytes = part.subarray(0, left)) {
    if (bytes.length === 0) continue;
    left -= bytes.length;
    if (!socket.write(isChunked ? chunkOf(bytes) : bytes)) await once(socket, "drain");
  }
  if (isChunked) socket.write("0\r\n\r\n");
}

async function statusOf(socket: Socket): Promise<number> {
  let text = "";
  socket.setEncoding("latin1");
  for await (const chunk of socket) {
    text += chunk;
    if (text.includes("\r\n")) break;
  }
  return Number(text.slice(9, 12));
}
