import { describe, expect, test } from "vitest";
import { routes } from "../../src/rest/routes.ts";
import { INDEXER_METHODS } from "../../src/rest/rpc/indexer-methods.ts";
import { KV_METHODS } from "../../src/rest/rpc/kv-methods.ts";
import { ZGS_METHODS } from "../../src/rest/rpc/zgs-methods.ts";
import { useIdleStack } from "../support/stack.ts";

const stack = useIdleStack();

/**
 * The limit for one hostile request: user and system time of all threads of the process, client and server
 * together.
 */
const MAX_CPU_MS = 250;

const HASH = `0x${"a".repeat(64)}`;
const ADDRESS = `0x${"b".repeat(40)}`;
const LONG_HEX = `0x${"f".repeat(1_000_000)}`;
const LONG_DIGITS = "9".repeat(3_000_000);
const LONG_TEXT = "AAAA".repeat(250_000);
const LONG_LIST = Array(15_000).fill(HASH);
const DEEP = JSON.parse(`${"[".repeat(50)}${"]".repeat(50)}`);
const HUGE_NUMBER = 1e308;
const MALFORMED = [LONG_HEX, LONG_TEXT, LONG_LIST, DEEP, HUGE_NUMBER, { a: LONG_HEX }] as const;

/** A parameter: the name in its errors, a good value, and bad ones. */
type Parameter = readonly [name: string, good: unknown, bad: readonly unknown[]];

const ROOT: Parameter = ["data_root", HASH, [...MALFORMED, LONG_DIGITS]];
const STREAM: Parameter = ["stream_id", HASH, [...MALFORMED, LONG_DIGITS]];
const ACCOUNT: Parameter = ["account", ADDRESS, [...MALFORMED, LONG_DIGITS]];
const KEY: Parameter = ["key", "a2V5", [...MALFORMED, "A".repeat(87_384), LONG_TEXT.slice(1)]];
const VERSION: Parameter = ["version", 1, [...MALFORMED, LONG_DIGITS, 2 ** 64, "18446744073709551616", -1]];
const whole = (name: string, good = 0): Parameter => [
  name,
  good,
  [...MALFORMED, LONG_DIGITS, 2 ** 64, "18446744073709551616", -1, 0.5],
];
const place = (name: string, good = 0): Parameter => [name, good, [...whole(name)[2], "9007199254740992"]];
const LENGTH: Parameter = ["len", 10, [...place("len")[2], 262_145]];
const INCLUSIVE: Parameter = ["inclusive", true, MALFORMED];

const SEGMENT = { root: HASH, data: "AAAA", index: 0, proof: { lemma: [HASH], path: [] }, fileSize: 3 };
const SEGMENT_FAULTS: readonly (readonly [string, unknown])[] = [
  ...MALFORMED.map((root) => ["root", { ...SEGMENT, root }] as const),
  ...[LONG_TEXT, "A".repeat(349_532), LONG_LIST, DEEP].map((data) => ["data", { ...SEGMENT, data }] as const),
  ...MALFORMED.map((index) => ["index", { ...SEGMENT, index }] as const),
  ...MALFORMED.map((fileSize) => ["file_size", { ...SEGMENT, fileSize }] as const),
  ...MALFORMED.map((proof) => ["proof", { ...SEGMENT, proof }] as const),
  ...[LONG_LIST, [LONG_HEX], DEEP].map(
    (lemma) => ["proof", { ...SEGMENT, proof: { lemma, path: [] } }] as const,
  ),
  ...[LONG_LIST, [LONG_TEXT], DEEP].map(
    (path) => ["proof", { ...SEGMENT, proof: { lemma: [], path } }] as const,
  ),
];
const NO_SEGMENT: readonly (readonly [string, unknown])[] = [LONG_TEXT, LONG_LIST, DEEP, HUGE_NUMBER].map(
  (value) => ["segment", value] as const,
);
const ONE_SEGMENT = [...SEGMENT_FAULTS, ...NO_SEGMENT];
const MANY_SEGMENTS: typeof ONE_SEGMENT = [
  ...SEGMENT_FAULTS.map(([name, value]) => [name, [SEGMENT, value]] as const),
  ["segments", LONG_TEXT],
  ["segments", LONG_LIST],
  ["segments", Array(401).fill(SEGMENT)],
  ["segments", HUGE_NUMBER],
  ["segment", DEEP],
];

/**
 * The parameters of each method. Uploads are listed apart, as their segments have parameters of their own.
 */
const METHODS: Readonly<Record<string, readonly Parameter[]>> = {
  indexer_getShardedNodes: [],
  indexer_getNodeLocations: [],
  indexer_getSelectedNodes: [
    whole("expected_replica"),
    ["method", "min", []],
    ["full_trusted", false, []],
    ["dropped", [], [LONG_TEXT, LONG_LIST, [LONG_HEX], DEEP, HUGE_NUMBER]],
  ],
  indexer_getFileLocations: [["root", HASH, ROOT[2]]],
  zgs_getStatus: [],
  zgs_getShardConfig: [],
  zgs_downloadSegment: [ROOT, place("start_index"), ["end_index", 1, [...place("end_index")[2], 1_025]]],
  zgs_downloadSegmentByTxSeq: [
    whole("tx_seq"),
    place("start_index"),
    ["end_index", 1, [...place("end_index")[2], 1_025]],
  ],
  zgs_downloadSegmentWithProof: [ROOT, place("index")],
  zgs_downloadSegmentWithProofByTxSeq: [whole("tx_seq"), place("index")],
  zgs_checkFileFinalized: [["tx_seq_or_root", 0, [...MALFORMED, LONG_DIGITS, 2 ** 64]]],
  zgs_getFileInfo: [ROOT],
  zgs_getFileInfoByTxSeq: [whole("tx_seq")],
  kv_getStatus: [],
  kv_getHoldingStreamIds: [],
  kv_getReplayProgress: [],
  kv_getTransactionResult: [whole("tx_seq")],
  kv_getValue: [STREAM, KEY, place("start_index"), LENGTH, VERSION],
  kv_getNext: [STREAM, KEY, place("start_index"), LENGTH, INCLUSIVE, VERSION],
  kv_getPrev: [STREAM, KEY, place("start_index"), LENGTH, INCLUSIVE, VERSION],
  kv_getFirst: [STREAM, place("start_index"), LENGTH, VERSION],
  kv_getLast: [STREAM, place("start_index"), LENGTH, VERSION],
  kv_hasWritePermission: [ACCOUNT, STREAM, KEY, VERSION],
  kv_isAdmin: [ACCOUNT, STREAM, VERSION],
  kv_IsAdmin: [ACCOUNT, STREAM, VERSION],
  kv_isWriterOfStream: [ACCOUNT, STREAM, VERSION],
  kv_isWriterOfKey: [ACCOUNT, STREAM, KEY, VERSION],
  kv_isSpecialKey: [STREAM, KEY, VERSION],
};
const UPLOADS: Readonly<Record<string, typeof ONE_SEGMENT>> = {
  zgs_uploadSegment: ONE_SEGMENT,
  zgs_uploadSegmentByTxSeq: ONE_SEGMENT,
  zgs_uploadSegments: MANY_SEGMENTS,
  zgs_uploadSegmentsByTxSeq: MANY_SEGMENTS,
};

describe("every method of JSON-RPC", () => {
  test("is in this table", () => {
    const methods = { ...INDEXER_METHODS, ...ZGS_METHODS, ...KV_METHODS };
    expect([...Object.keys(METHODS), ...Object.keys(UPLOADS)].sort()).toEqual(Object.keys(methods).sort());
  });

  const parameters = Object.entries(METHODS).flatMap(([method, all]) =>
    all.flatMap(([name, , bad], at) => (bad.length > 0 ? [{ method, name, at, all, bad }] : [])),
  );
  test.each(parameters)(
    "$method refuses a bad $name by name, at little cost",
    async ({ method, name, at, all, bad }) => {
      for (const value of bad) {
        const params = all.map(([, good], place) => (place === at ? value : good));
        await expectRefusal(method, params, name);
      }
    },
  );

  test.each(Object.entries(UPLOADS))(
    "%s refuses a bad segment by name, at little cost",
    async (method, faults) => {
      for (const [name, segment] of faults) await expectRefusal(method, [segment, 0], name);
    },
  );

  test.each([...Object.keys(METHODS), ...Object.keys(UPLOADS)])(
    "%s refuses more parameters than any method has",
    (method) => expectRefusal(method, LONG_LIST, "params"),
  );

  test.each<[string, string]>([
    ["numbers of many digits", `[${Array(99_999).fill("1".repeat(40)).join(",")}]`],
    [
      "lists in lists",
      `[${Array(9_999)
        .fill(`${"[".repeat(60)}1${"]".repeat(60)}`)
        .join(",")}]`,
    ],
    ["objects", `[${Array.from({ length: 33_000 }, (_, n) => `{"k${n}":1234567890123456789}`).join(",")}]`],
  ])("a request of %s is refused before it is parsed", async (_name, params) => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"kv_getValue","params":${params}}`;
    const { text } = await atLittleCost(() => sendText("POST", "/", body));
    expect(JSON.parse(text).error).toEqual({
      code: -32_600,
      message: "The request has more than 20000 values",
    });
  });

  test("a name of 1 MB is not a method", async () => {
    const { error } = await call(LONG_TEXT, []);
    expect(error).toEqual({ code: -32_601, message: "Method not found" });
  });
});

/** Requests to each public route, in the order of its list, and the field that the answer names. */
const LONGEST = "9".repeat(12_000);
const REST: Readonly<Record<string, readonly Hostile[]>> = {
  "GET /v1/models": [
    { url: `/v1/models?provider_address=${LONGEST}`, field: "provider_address" },
    { url: `/v1/models?input_modality=${LONGEST}`, field: "input_modality" },
    { url: `/v1/models?${"input_modality=a&".repeat(700)}`, field: "input_modality" },
  ],
  "GET /v1/models/*": [{ url: `/v1/models/${LONGEST}`, field: "model: is too long" }],
  "GET /v1/providers": [
    { url: `/v1/providers?service_type=${LONGEST}`, field: "service_type" },
    { url: `/v1/providers?model=${LONGEST}`, field: "model" },
  ],
  "GET /v1/service-types": [],
  "GET /v1/receipts/checkpoint": [],
  "GET /v1/receipts/consistency": [
    { url: `/v1/receipts/consistency?from=${"9".repeat(10_000)}`, field: "from" },
  ],
  "GET /v1/receipts/key": [],
  "GET /v1/auth/nonce": [],
  "POST /v1/auth/signin": [
    { url: "/v1/auth/signin", body: { message: "a".repeat(200_000), signature: "0x" }, field: "message" },
    {
      url: "/v1/auth/signin",
      body: { message: "a", signature: `0x${"ab".repeat(100_000)}` },
      field: "signature",
    },
    { url: "/v1/auth/signin", body: { message: DEEP, signature: "0x" }, field: "message" },
  ],
  "GET /file": [
    { url: `/file?root=${LONGEST}`, field: "root" },
    { url: `/file?txSeq=${LONGEST}`, field: "txSeq" },
    { url: `/file?${"txSeq=1&".repeat(1_500)}`, field: "txSeq" },
  ],
  "GET /file/info/:cid": [{ url: `/file/info/${LONGEST}`, field: "A file id is" }],
  "GET /files/info": [{ url: `/files/info?${"cid=1&".repeat(2_000)}`, field: "cid" }],
  "POST /file/segment": [
    ...(
      [
        ["root", LONG_HEX.slice(0, 400_000)],
        ["txSeq", HUGE_NUMBER],
        ["index", HUGE_NUMBER],
        ["data", "A".repeat(349_532)],
        ["proof", DEEP],
      ] as const
    ).map(([field, value]) => ({ url: "/file/segment", body: { ...SEGMENT, [field]: value }, field })),
    {
      url: "/file/segment",
      body: { ...SEGMENT, proof: { lemma: LONG_LIST.slice(0, 5_000), path: [] } },
      field: "proof",
    },
    { url: "/file/segment", body: { ...SEGMENT, data: LONG_TEXT }, field: "body" },
  ],
  "GET /file/:root": [{ url: `/file/${LONGEST}`, field: "path" }],
  "GET /file/:root/*": [
    { url: `/file/${HASH}/${"a/".repeat(6_000)}`, field: "path" },
    { url: `/file/${HASH}/${"%2F".repeat(4_000)}`, field: "path" },
  ],
  "GET /node/status": [],
  "POST /": [],
};

type Hostile = { readonly url: string; readonly body?: unknown; readonly field: string };

describe("every public route", () => {
  test("is in this table", () => {
    const open = routes.filter(({ access }) => access === "public");
    expect(Object.keys(REST).sort()).toEqual(open.map(({ method, url }) => `${method} ${url}`).sort());
  });

  test.each(Object.entries(REST).filter(([, all]) => all.length > 0))(
    "%s refuses what is too long or too much by name, at little cost",
    async (route, all) => {
      const [method = ""] = route.split(" ");
      for (const { url, body, field } of all) {
        const { text, status } = await atLittleCost(() => send(method, url, body));
        expect([status, text], url.slice(0, 80)).toEqual([
          expect.toSatisfy((code: number) => code >= 400 && code < 500),
          expect.stringContaining(field),
        ]);
        expect(text.length).toBeLessThan(20_000);
      }
    },
  );

  test("a URL of 3 MB is refused", async () => {
    const { status } = await atLittleCost(() => send("GET", `/file?name=${LONG_TEXT}`));
    expect([414, 431]).toContain(status);
  });
});

type Answer = {
  readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
};

async function expectRefusal(method: string, params: readonly unknown[], name: string): Promise<void> {
  const { error } = await atLittleCost(() => call(method, params));
  const shown = JSON.stringify(params).slice(0, 200);
  expect(error, shown).toEqual({
    code: -32_602,
    message: `Invalid params: ${name}`,
    data: expect.any(String),
  });
  expect(JSON.stringify(error).length).toBeLessThan(1_000);
}

async function call(method: string, params: readonly unknown[]): Promise<Answer> {
  const { text } = await send("POST", "/", { jsonrpc: "2.0", id: 1, method, params });
  return JSON.parse(text) as Answer;
}

function send(method: string, url: string, body?: unknown) {
  return sendText(method, url, body === undefined ? undefined : JSON.stringify(body));
}

async function sendText(method: string, url: string, body: string | undefined) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${stack().origin}${url}`, {
    method,
    ...(body !== undefined && { headers, body }),
  });
  return { status: response.status, text: await response.text() };
}

/** Runs a request that must reach no database and cost little. */
async function atLittleCost<T>(request: () => Promise<T>): Promise<T> {
  const { pool } = stack().app.database;
  const connect = pool.connect;
  let statements = 0;
  pool.connect = ((...given: Parameters<typeof connect>) => {
    statements++;
    return connect.apply(pool, given);
  }) as typeof connect;
  try {
    const { answer, cpuMs } = await measured(request);
    expect(statements).toBe(0);
    // A busy machine makes any request more expensive at times: the cost is the minimum of several runs.
    let least = cpuMs;
    for (let n = 0; n < 3 && least >= MAX_CPU_MS; n++)
      least = Math.min(least, (await measured(request)).cpuMs);
    expect(least).toBeLessThan(MAX_CPU_MS);
    return answer;
  } finally {
    pool.connect = connect;
  }
}

async function measured<T>(request: () => Promise<T>) {
  const begun = process.cpuUsage();
  const answer = await request();
  const { user, system } = process.cpuUsage(begun);
  return { answer, cpuMs: (user + system) / 1_000 };
}
