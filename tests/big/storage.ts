import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { startAnvil } from "../../src/devnet/chain/anvil.ts";
import { deployContracts } from "../../src/devnet/chain/deploy.ts";
import { HashPool } from "../../src/storage/keccak/hash-pool.ts";
import { Keccak } from "../../src/storage/keccak/keccak.ts";
import { type FileTree, hashFile } from "../../src/storage/merkle/file-tree.ts";
import { SEGMENT_BYTES } from "../../src/storage/merkle/shape.ts";
import { startChild } from "../bench/child.ts";
import { startDurablePostgres } from "../bench/durable-postgres.ts";
import { withEnds } from "../bench/ends.ts";
import { startPublisher } from "../support/storage/publisher.ts";

/**
 * `npm run test:big`: a file of 1 GiB (or BIG_MIB) up and down through the built product, in its own process
 * on PostgreSQL (the embedded database alone takes more), which must not need more than 300 MiB. Exits with 1
 * when it does, or when a byte is wrong.
 */
const SIZE_BYTES = Number(process.env.BIG_MIB ?? 1_024) * 2 ** 20;
const LIMIT_MIB = 300;
/** Without these Node and the allocator keep freed memory, since there is enough of it. */
const FRUGAL = {
  flags: ["--max-old-space-size=128", "--max-semi-space-size=4"],
  env: { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072", MALLOC_TRIM_THRESHOLD_: "131072" },
} as const;
const LANES = 4;
const BANNER = /OpenAI clients +(http\S+)\/v1/;
const base = randomBytes(SEGMENT_BYTES);

await withEnds(async (onEnd) => {
  const folder = await mkdtemp(join(tmpdir(), "zerograph-big-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  await deployContracts(anvil.url);
  const postgres = await startDurablePostgres();
  onEnd(() => postgres.stop());
  const env = {
    DATABASE_URL: postgres.url,
    NETWORK: "devnet",
    PORT: "0",
    LOG_LEVEL: "warn",
    DATA_DIR: folder,
    RPC_URL: anvil.url,
  };
  const product = await startChild(process.env.BIG_MAIN ?? "dist/gateway/main.js", {
    ...{ ready: BANNER, nodeFlags: FRUGAL.flags },
    env: { ...env, ...FRUGAL.env },
  });
  onEnd(() => product.stop());
  const { origin } = product;
  const pid = product.process.pid ?? 0;
  const tree = await treeOf();
  const { submit } = await startPublisher({ rpcUrl: anvil.url, origin });
  await submit({ root: tree.root, sizeBytes: SIZE_BYTES, tree, content: base, segments: [] });
  const idleMib = residentMib(pid, "VmRSS");
  await timed("up", () => upload(origin, tree));
  const upMib = residentMib(pid, "VmHWM");
  await timed("down", () => download(origin, tree.root));
  const peakMib = residentMib(pid, "VmHWM");
  console.log(`resident: ${idleMib} MiB before, at most ${upMib} MiB on the way up, ${peakMib} MiB in all`);
  if (peakMib < LIMIT_MIB) return;
  console.error(`more than ${LIMIT_MIB} MiB`);
  process.exitCode = 1;
});

/** No two segments are alike, and none is kept. */
function segmentAt(index: number): Buffer {
  const data = Buffer.from(base);
  data.writeUInt32BE(index, 0);
  return data;
}

async function treeOf(): Promise<FileTree> {
  const keccak = new Keccak();
  const hasher = new HashPool({ keccak, threads: 1 });
  function* parts() {
    for (let index = 0; index < SIZE_BYTES / SEGMENT_BYTES; index++) yield segmentAt(index);
  }
  return hashFile(parts(), { keccak, hasher }).finally(() => hasher.close());
}

async function upload(origin: string, tree: FileTree): Promise<void> {
  const waiting = Array.from({ length: tree.shape.segments }, (_, index) => index).values();
  const dispatcher = new Agent({ connections: LANES });
  const lane = async () => {
    for (const index of waiting) {
      const data = segmentAt(index).toString("base64");
      const body = JSON.stringify({ root: tree.root, index, data, proof: tree.proof(index) });
      const headers = { "content-type": "application/json" };
      const reply = await request(`${origin}/file/segment`, { method: "POST", headers, body, dispatcher });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`${reply.statusCode} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await dispatcher.close();
}

async function download(origin: string, root: string): Promise<void> {
  const { statusCode, body } = await request(`${origin}/file?root=${root}`);
  if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`);
  let at = 0;
  let [index, expected] = [0, segmentAt(0)];
  for await (const part of body as AsyncIterable<Buffer>) {
    for (let from = 0; from < part.length; ) {
      const inside = at % SEGMENT_BYTES;
      const piece = part.subarray(from, from + SEGMENT_BYTES - inside);
      if (!piece.equals(expected.subarray(inside, inside + piece.length)))
        throw new Error(`wrong bytes at ${at}`);
      from += piece.length;
      at += piece.length;
      if (at % SEGMENT_BYTES === 0) expected = segmentAt(++index);
    }
  }
  if (at !== SIZE_BYTES) throw new Error(`received ${at} of ${SIZE_BYTES} bytes`);
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const startedMs = performance.now();
  await work();
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `${what}: ${SIZE_BYTES / 2 ** 20} MiB in ${seconds.toFixed(1)} s, ${(SIZE_BYTES / 1e6 / seconds).toFixed(0)} MB/s`,
  );
}

function residentMib(pid: number, field: "VmRSS" | "VmHWM"): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1]) / 1_024);
}
