import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { routes } from "../../src/rest/routes.ts";
import { chunkOf } from "../support/chunk.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const MIB = 1_048_576;
/** More than the buffers of both sockets hold: a client that only writes waits until the server reads. */
const BODY_BYTES = 16 * MIB;
const stack = useStack({ MAX_PROMPT_MIB: "1", MAX_BODY_MIB: "1", BATCH_FILE_MIB: "1" });

const FORM_TYPE = "multipart/form-data; boundary=b";
const FORM = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;

const all = [
  ...routes.filter(({ method }) => method !== "GET"),
  { method: "POST", url: "/graphql" },
  { method: "POST", url: "/graphql/stream" },
  { method: "POST", url: "/dashboard/session" },
  { method: "POST", url: "/nothing" },
];
const formRoutes = routes.filter(({ bodies }) => bodies?.["multipart/form-data"]);

/** Most clients (Python's requests, Java's HttpURLConnection) read nothing before they have sent the whole body. */
describe.each([
  ["JSON", all, ["content-type: application/json"], `{"model":"`],
  ["a form", all, [`content-type: ${FORM_TYPE}`], FORM],
  ["a form that is not well-formed", formRoutes, [`content-type: ${FORM_TYPE}`], ""],
  ["an unknown type", all, ["content-type: text/unknown"], ""],
  ["a compressed body", all, ["content-type: application/json", "content-encoding: gzip"], ""],
] as const)("a client that reads only after it has sent %s", (_, tried, headers, start) => {
  test.each([
    ["of an announced size, without a credential", true, false],
    ["of an announced size", true, true],
    ["in chunks, without a credential", false, false],
    ["in chunks", false, true],
  ] as const)("%s, gets its answer on every route", async (__, isAnnounced, isKnown) => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    const size = isAnnounced ? `content-length: ${BODY_BYTES}` : "transfer-encoding: chunked";
    const credential = isKnown ? [`authorization: Bearer ${secret}`] : [];
    for (const { method, url } of tried) {
      const path = url.replace(/:[A-Za-z]+|\*/g, "x");
      const socket = connect(Number(new URL(stack().origin).port), "127.0.0.1");
      await once(socket, "connect");
      const head = [`${method} ${path} HTTP/1.1`, "host: a", size, ...credential, ...headers];
      await send(socket, head, start, isAnnounced);
      const status = await statusOf(socket);
      // JSON-RPC has its errors in the body.
      const isTold = path === "/" ? [200, 413, 415].includes(status) : status >= 400 && status < 500;
      expect([method, path, status, isTold]).toEqual([method, path, status, true]);
      socket.destroy();
    }
  });
});

/** Sends a request with a body of `BODY_BYTES` as a blocking client does: it waits while its socket is full. */
async function send(socket: Socket, head: readonly string[], start: string, isAnnounced: boolean) {
  socket.pause();
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const part = Buffer.alloc(MIB, "x");
  let left = BODY_BYTES;
  for (let bytes = Buffer.from(start); left > 0; bytes = part.subarray(0, left)) {
    if (bytes.length === 0) continue;
    left -= bytes.length;
    if (!socket.write(isAnnounced ? bytes : chunkOf(bytes))) await once(socket, "drain");
  }
  if (!isAnnounced) socket.write("0\r\n\r\n");
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
