// @module-tag large
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RpcParams } from "../../../src/rest/rpc/rpc-params.ts";
import { ZGS_METHODS } from "../../../src/rest/rpc/zgs-methods.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { useStack } from "../../support/stack.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../../support/storage/publisher.ts";
import { until } from "../../support/until.ts";

const MIB = 2 ** 20;
const LIMIT = 100 * MIB;
/** Long enough for hundreds of turns. */
const LONG = 25 * MIB;
/** 50 ms on an otherwise idle machine; the client takes its part of these turns as well. */
const MAX_TURN_MS = 250;
const SEGMENT_TEXT = Buffer.alloc(262_144).toString("base64");
const UNKNOWN = `0x${"9".repeat(64)}`;

const stack = useStack();
const memory = () => stack().app.load.memory;
const held: (() => void)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const release of held.splice(0)) release();
  await until(() => memory().usedBytes === 0);
});

type Reply = { readonly status: number; readonly text: string };

/** Posts a raw body. A connection that breaks before the answer fails. */
function post(body: Buffer): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": body.length };
    const sent = request(stack().origin, { method: "POST", headers, agent: false }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const segmentsOf = (file: PublishedFile) =>
  file.segments.map((segment) => ({ ...segment, root: file.root, fileSize: file.sizeBytes }));
const callOf = (method: string, params: readonly unknown[]) =>
  Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
/** A call with a text of the length that makes the body `sizeBytes` long. */
const filled = (sizeBytes: number, letter: string) => {
  const [before, after] = ['{"jsonrpc":"2.0","id":1,"method":"zgs_uploadSegments","params":["', '"]}'];
  const body = Buffer.alloc(sizeBytes, letter);
  body.write(before);
  body.write(after, sizeBytes - after.length);
  return body;
};
const segment = (data: string) => ({
  root: UNKNOWN,
  index: 0,
  data,
  proof: { lemma: [], path: [] },
  fileSize: 262_144,
});

test("a file of 70 MiB is uploaded in one call, in short turns and with less memory than its body", async () => {
  const file = prepareFile(randomBytes(70 * MIB));
  await (await startPublisher(stack())).submit(file);
  const body = callOf("zgs_uploadSegments", [segmentsOf(file)]);
  expect(body.length).toBeGreaterThan(93 * MIB);
  let peakBytes = 0;
  const watching = setInterval(() => {
    peakBytes = Math.max(peakBytes, memory().usedBytes);
  }, 1);
  let reply: Reply | undefined;
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    reply = await post(body);
  }).finally(() => clearInterval(watching));
  console.log(`a call of ${body.length} bytes: longest turn ${Math.round(turnMs)} ms, reserved ${peakBytes}`);
  expect(reply).toEqual({ status: 200, text: '{"jsonrpc":"2.0","id":1,"result":null}' });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  expect(peakBytes).toBeGreaterThan(file.sizeBytes);
  expect(peakBytes).toBeLessThan(0.8 * body.length);
  const again = await post(callOf("zgs_checkFileFinalized", [file.root]));
  expect(JSON.parse(again.text)).toMatchObject({ result: true });
  const stored = await fetch(`${stack().origin}/file?root=${file.root}`);
  expect(Buffer.from(await stored.arrayBuffer()).equals(file.content)).toBe(true);
});

describe("a long body", () => {
  test.each<[string, () => Buffer, object]>([
    [
      "of one text, of 100 MiB",
      () => filled(LIMIT, "A"),
      { code: -32_602, data: "expected a list of segments" },
    ],
    ["of one text with line feeds", () => filled(LONG, "\n"), { code: -32_700 }],
    ["of lists", () => Buffer.alloc(LONG, "["), { code: -32_600 }],
    ["of numbers", () => Buffer.alloc(LONG, "1,"), { code: -32_600 }],
    ["of quotes", () => Buffer.alloc(LONG, '"'), { code: -32_600 }],
    ["of backslashes", () => filled(LONG, "\\"), { code: -32_600 }],
    ["that is not UTF-8", () => filled(LONG, "\xff"), { code: -32_700 }],
    [
      "of segments of which the last is not base64",
      () =>
        callOf("zgs_uploadSegments", [
          [...Array(70).fill(segment(SEGMENT_TEXT)), segment(`#${SEGMENT_TEXT.slice(1)}`)],
        ]),
      { code: -32_602, message: "Invalid params: data", data: "illegal base64 data" },
    ],
    [
      "of segments of which one is too long",
      () =>
        callOf("zgs_uploadSegments", [
          [...Array(70).fill(segment(SEGMENT_TEXT)), segment(`${SEGMENT_TEXT}AAAA`)],
        ]),
      { code: -32_602, message: "Invalid params: data", data: "invalid data length" },
    ],
  ])("%s is answered with its error, in short turns", async (_name, bodyOf, error) => {
    const body = bodyOf();
    let reply: Reply | undefined;
    const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
      reply = await post(body);
    });
    expect(reply?.status).toBe(200);
    expect(JSON.parse(reply?.text ?? "")).toMatchObject({ error });
    expect(turnMs).toBeLessThan(MAX_TURN_MS);
  });

  test("of one byte more than 100 MiB is 413, whether its length is announced or not", async () => {
    const reply = await post(Buffer.alloc(LIMIT + 1, " "));
    expect(reply.status).toBe(413);
    expect(JSON.parse(reply.text)).toMatchObject({
      error: { code: -32_600, message: `The body is larger than ${LIMIT} bytes.` },
    });
    const streamed = await fetch(stack().origin, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Blob([Buffer.alloc(LIMIT + 1, " ")]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(streamed.status).toBe(413);
  });
});

test("a body that exceeds every share of the memory budget is 413 and names it; one without memory now is 503", async () => {
  const all = Array(290).fill(SEGMENT_TEXT);
  const lease = memory().open({ kind: "address", id: "127.0.0.1" });
  lease.charge(84 * MIB);
  held.push(() => lease.release());
  // The client sends all of it and reads only then, as most do.
  expect((await post(callOf("zgs_uploadSegments", [all]))).status).toBe(503);
  // Short texts are kept three times while they are parsed.
  const short = Array(2_600).fill("b".repeat(3_000));
  held.splice(0).forEach((release) => {
    release();
  });
  const reply = await post(callOf("zgs_uploadSegments", [[...all.slice(0, 275), ...short]]));
  expect(reply.status).toBe(413);
  expect(reply.text).toContain(`${Math.floor((256 * MIB) / 3)} bytes`);
});

test("a call uploads 16 segments at once, and stops when its client disconnects", async () => {
  const { app, origin } = stack();
  const file = prepareFile(randomBytes(48 * 262_144));
  await (await startPublisher(stack())).submit(file);
  const left = new AbortController();
  let [begun, underWay, most] = [0, 0, 0];
  const put = app.uploads.put.bind(app.uploads);
  vi.spyOn(app.uploads, "put").mockImplementation(async (given) => {
    most = Math.max(most, ++underWay);
    if (++begun === 20) left.abort();
    return put(given).finally(() => underWay--);
  });
  const params = new RpcParams([segmentsOf(file)]);
  const run = ZGS_METHODS.zgs_uploadSegments?.({
    app,
    params,
    origin,
    signal: left.signal,
    needMemory: () => {},
  });
  await expect(run).rejects.toThrow("The client has disconnected");
  expect([begun, most]).toEqual([20, 16]);
});

test("a call has at most 400 segments", async () => {
  const { text } = await post(callOf("zgs_uploadSegments", [Array(401).fill({})]));
  expect(JSON.parse(text)).toMatchObject({ error: { code: -32_602, data: "more than 400 segments" } });
});
