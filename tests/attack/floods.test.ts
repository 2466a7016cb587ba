// @module-tag large
import { randomBytes } from "node:crypto";
import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  attack,
  type Manner,
  openFiles,
  rawRequest,
  residentMib,
  socketOpening,
  textFrame,
  watch,
} from "../support/attack/attack.ts";
import { startNetwork } from "../support/chain/network.ts";
import { scaled } from "../support/machine.ts";
import { newFolder, type ReadyProcess, startReady } from "../support/servers/process.ts";
import { startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const MIB = 2 ** 20;
const MAX_GROWTH_MIB = 256;
/** Of 300 connections that send 20 requests each, the event loop accepts one per turn, and the check comes last. */
const MAX_HEALTH_MS = 2_000;
const FILE_BYTES = 25 * MIB;
/** Idle connections of these tests themselves, and of the product to its parts. */
const MAX_MORE_FILES = 20;

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
let product: ReadyProcess;
let root = "";
let idleMib = 0;
let idleFiles = 0;

beforeAll(async () => {
  const { rpcUrl } = await startNetwork(onEnd);
  product = await startReady({
    // No rate limit, so that only the limits by cost apply; the limit of the event-loop delay is the default one.
    settings: {
      MAX_EVENT_LOOP_DELAY_MS: "200",
      ...{ DATA_DIR: newFolder(onEnd), RPC_URL: rpcUrl, LOG_LEVEL: "silent", RATE_LIMIT_PER_ADDRESS: "0" },
    },
    onEnd,
  });
  const publisher = await startPublisher({ rpcUrl, origin: product.origin });
  ({ root } = await publisher.publish(randomBytes(FILE_BYTES)));
  idleMib = residentMib(product.pid);
  idleFiles = openFiles(product.pid);
});
afterAll(async () => {
  for (const end of ends) await end();
});

const call = (method: string, params: readonly unknown[], id: number) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const proofs = () =>
  JSON.stringify(
    Array.from({ length: 100 }, (_, id) => call("zgs_downloadSegmentWithProof", [root, id % 100], id)),
  );
/** As many segments as fit into a body, each of which has to be hashed. */
const uploads = () => {
  const proof = { lemma: [root], path: [] };
  const data = randomBytes(262_144).toString("base64");
  return Array.from({ length: 299 }, (_, n) => ({ root, index: n % 100, data, proof, fileSize: FILE_BYTES }));
};
const repeated = (request: Buffer, times: number) =>
  Buffer.concat(Array.from({ length: times }, () => request));
const introspection = () =>
  rawRequest("POST", "/graphql", JSON.stringify({ query: getIntrospectionQuery() }));

const ALIASED = `{ __schema { ${Array.from({ length: 14 }, (_, n) => `a${n}: types { name fields { name args { name } } }`).join(" ")} } }`;

const LEAVING = { reads: false, leavesAfterMs: 2_000 };
const READING = { reads: true, leavesAfterMs: 1_000 };
const NOT_READING = { reads: false, leavesAfterMs: 1_000 };

/** The payload of each connection, the number of connections, and the behaviour of their clients. */
type Flood = {
  readonly name: string;
  readonly connections: number;
  readonly payload: (connection: number) => Buffer;
  /** Whether each connection sends its own payload; otherwise it is made once. */
  readonly varies?: boolean;
  /** What is sent on a socket after its acknowledgement. */
  readonly burst?: () => Buffer;
  readonly manners: readonly Manner[];
};

const FLOODS: readonly Flood[] = [
  {
    name: "JSON-RPC batches of 100 proven segments",
    connections: 300,
    payload: () => rawRequest("POST", "/", proofs()),
    manners: [LEAVING, READING],
  },
  {
    name: "JSON-RPC bodies of 100 MiB",
    connections: 60,
    payload: () =>
      rawRequest("POST", "/", JSON.stringify(call("zgs_getStatus", ["x".repeat(100 * MIB - 200)], 1))),
    manners: [NOT_READING],
  },
  {
    name: "JSON-RPC uploads of 299 segments",
    connections: 60,
    payload: () => rawRequest("POST", "/", JSON.stringify(call("zgs_uploadSegments", [uploads()], 1))),
    manners: [LEAVING, READING],
  },
  {
    name: "JSON-RPC bodies of short texts",
    connections: 60,
    payload: () =>
      rawRequest("POST", "/", JSON.stringify(call("zgs_getStatus", Array(19_000).fill("x".repeat(430)), 1))),
    manners: [NOT_READING],
  },
  {
    name: "20 introspection queries pipelined",
    connections: 300,
    payload: () => repeated(introspection(), 20),
    manners: [NOT_READING, READING],
  },
  {
    name: "introspection that multiplies by aliases",
    connections: 100,
    payload: () => rawRequest("POST", "/graphql", JSON.stringify({ query: ALIASED })),
    manners: [NOT_READING],
  },
  {
    name: "introspection that multiplies by aliases, a different text on each connection",
    connections: 100,
    varies: true,
    payload: (n) =>
      rawRequest(
        "POST",
        "/graphql",
        JSON.stringify({ query: ALIASED.replaceAll(": types", `_${n}: types`) }),
      ),
    manners: [NOT_READING, READING],
  },
  {
    name: "graph bodies of 512 KiB",
    connections: 200,
    payload: () =>
      rawRequest("POST", "/graphql", JSON.stringify({ query: `{ __typename } #${" ".repeat(524_000)}` })),
    manners: [NOT_READING],
  },
  {
    name: "downloads of a large file",
    connections: 300,
    payload: () => rawRequest("GET", `/file?root=${root}`),
    manners: [NOT_READING, READING],
  },
  {
    name: "downloads of a large file with proofs",
    connections: 300,
    payload: () => rawRequest("GET", `/file?root=${root}&withProof=true`),
    manners: [NOT_READING],
  },
  {
    name: "descriptions, models and pages pipelined",
    connections: 200,
    payload: () =>
      Buffer.concat(
        ["/openapi.json", "/schema.graphql", "/v1/models", "/docs/yaml", "/docs/json", "/dashboard/"]
          .flatMap((path) => [path, path, path])
          .map((path) => rawRequest("GET", path)),
      ),
    manners: [NOT_READING],
  },
  {
    name: "chat bodies of 2 MiB without a valid key",
    connections: 200,
    payload: () =>
      rawRequest(
        "POST",
        "/v1/chat/completions",
        `{"model":"x","messages":["${"x".repeat(2 * MIB - 200)}"]}`,
        {
          authorization: "Bearer sk-none",
        },
      ),
    manners: [NOT_READING],
  },
  {
    name: "bodies that come in chunks and never end",
    connections: 200,
    payload: () =>
      Buffer.concat([
        Buffer.from("POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"),
        Buffer.from(`transfer-encoding: chunked\r\n\r\n${(4 * MIB).toString(16)}\r\n`),
        Buffer.alloc(4 * MIB, "x"),
      ]),
    manners: [NOT_READING],
  },
  {
    name: "100 queries at once on each socket",
    connections: 200,
    payload: socketOpening,
    burst: () =>
      Buffer.concat(
        Array.from({ length: 100 }, (_, id) =>
          textFrame({ id: `${id}`, type: "subscribe", payload: { query: "{ models { nodes { id } } }" } }),
        ),
      ),
    manners: [NOT_READING, READING],
  },
  {
    name: "sockets that say nothing after their handshake",
    connections: 1_000,
    payload: () =>
      rawRequest("GET", "/graphql", "", {
        upgrade: "websocket",
        connection: "upgrade",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
        "sec-websocket-protocol": "graphql-transport-ws",
      }),
    manners: [NOT_READING],
  },
];

const CASES = FLOODS.flatMap(({ manners, ...flood }) =>
  manners.map((manner) => ({
    ...flood,
    manner,
    title: `${flood.name}, by clients that ${manner.reads ? "read" : "do not read"}`,
  })),
);

test.each(CASES)("$title: others are answered, and memory is bounded", async (flood) => {
  const bytes = flood.payload(0);
  const payloadOf = flood.varies ? flood.payload : () => bytes;
  const beforeMib = residentMib(product.pid);
  const end = watch(product.origin, product.pid);
  await attack(product.origin, flood.connections, payloadOf, flood.manner, flood.burst?.());
  const { worstMs, worstWallMs, worstControlMs, peakMib, failure } = await end();
  const figures = [worstMs, worstWallMs, worstControlMs, peakMib, idleMib].map(Math.round);
  const [held, wall, control, peak, idle] = figures;
  console.log(
    `${flood.title}: health ${held} ms (clock ${wall}, idle server ${control}), MiB ${peak} (idle ${idle})`,
  );
  expect(failure).toBe("");
  expect(worstMs).toBeLessThan(scaled(MAX_HEALTH_MS));
  expect(peakMib - beforeMib).toBeLessThan(MAX_GROWTH_MIB);
});

test("afterwards all resources are released: a download and a batch are answered as before", async () => {
  await until(async () => {
    const reply = await fetch(`${product.origin}/file?root=${root}`);
    if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    return (await reply.arrayBuffer()).byteLength === FILE_BYTES;
  });
  const batch = await fetch(product.origin, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify([call("zgs_getStatus", [], 1), call("zgs_downloadSegmentWithProof", [root, 3], 2)]),
  });
  const [, second] = (await batch.json()) as { result: { index: number } }[];
  expect(second?.result.index).toBe(3);
  await until(() => residentMib(product.pid) - idleMib < MAX_GROWTH_MIB);
  await until(() => openFiles(product.pid) <= idleFiles + MAX_MORE_FILES);
});
