// @module-tag large
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startNetwork } from "../support/chain/network.ts";
import { newFolder, type ReadyProcess, startReady } from "../support/servers/process.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const MIB = 2 ** 20;
const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);

let rpcUrl = "";
let settings: Record<string, string> = {};
let product: ReadyProcess;

beforeAll(async () => {
  rpcUrl = (await startNetwork(onEnd)).rpcUrl;
  settings = { DATA_DIR: newFolder(onEnd), RPC_URL: rpcUrl };
  product = await startReady({ settings, onEnd });
});
afterAll(async () => {
  for (const end of ends) await end();
});

const publisher = () => startPublisher({ rpcUrl, origin: product.origin });

/**
 * Posts segments, four in parallel, until all are posted or the product is gone. Returns the acknowledged
 * ones.
 */
async function upload(
  file: PublishedFile,
  indexes: readonly number[],
  onAcknowledged: (count: number) => void = () => {},
): Promise<Set<number>> {
  const { post } = await publisher();
  const [waiting, acknowledged] = [[...indexes], new Set<number>()];
  const lane = async () => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const reply = await post({ root: file.root, ...file.segments[index] });
      if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
      acknowledged.add(index);
      onAcknowledged(acknowledged.size);
    }
  };
  await Promise.allSettled([lane(), lane(), lane(), lane()]);
  return acknowledged;
}

async function infoOf(origin: string, root: string) {
  const { data } = (await (await fetch(`${origin}/file/info/${root}`)).json()) as {
    data: { finalized: boolean; uploadedSegNum: number };
  };
  if (!data) throw new Error("the file is not known");
  return data;
}

async function download(origin: string, root: string): Promise<Buffer> {
  const reply = await fetch(`${origin}/file?root=${root}`);
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
  return Buffer.from(await reply.arrayBuffer());
}

test("killed repeatedly in the middle of an upload, it keeps every segment that it acknowledged", async () => {
  const file = prepareFile(randomBytes(8 * MIB + 1));
  await (await publisher()).submit(file);
  const kept = new Set<number>();
  for (const many of [5, 12]) {
    const missing = file.segments.map(({ index }) => index).filter((index) => !kept.has(index));
    const acknowledged = await upload(file, missing, (count) => {
      if (count === many) void product.end("SIGKILL");
    });
    expect(await product.ended).toMatchObject({ signal: "SIGKILL" });
    for (const index of acknowledged) kept.add(index);
    product = await startReady({ settings, onEnd });
    const info = await infoOf(product.origin, file.root);
    expect(info.finalized).toBe(false);
    expect(info.uploadedSegNum).toBeGreaterThanOrEqual(kept.size);
  }
  const missing = file.segments.map(({ index }) => index).filter((index) => !kept.has(index));
  expect((await upload(file, missing)).size).toBe(missing.length);
  expect(await infoOf(product.origin, file.root)).toMatchObject({ finalized: true, uploadedSegNum: 33 });
  expect((await download(product.origin, file.root)).equals(file.content)).toBe(true);
});

test("fifty parallel downloads of one file return the same bytes", async () => {
  const file = await (await publisher()).publish(randomBytes(MIB + 7));
  const all = await Promise.all(Array.from({ length: 50 }, () => download(product.origin, file.root)));
  expect(all.filter((bytes) => bytes.equals(file.content))).toHaveLength(50);
});

test("one product is the storage node of another, which breaks off when that one dies", async () => {
  const network = { STORAGE: "network", STORAGE_NODES: product.origin, STORAGE_CACHE_MIB: "0" };
  const folder = newFolder(onEnd);
  const other = await startReady({ settings: { ...settings, ...network, DATA_DIR: folder }, onEnd });
  const { submit } = await publisher();
  const file = prepareFile(randomBytes(24 * MIB));
  await submit(file);
  await until(async () => infoOf(other.origin, file.root));
  const uploader = await startPublisher({ rpcUrl, origin: other.origin });
  const [through, direct] = [file.segments.slice(0, 6), file.segments.slice(6)];
  for (const segment of through)
    expect((await uploader.post({ root: file.root, ...segment })).status).toBe(200);
  await upload(
    file,
    direct.map(({ index }) => index),
  );
  await until(async () => (await infoOf(other.origin, file.root)).finalized);
  expect((await infoOf(product.origin, file.root)).finalized).toBe(true);
  expect((await download(other.origin, file.root)).equals(file.content)).toBe(true);
  const reply = await fetch(`${other.origin}/file?root=${file.root}`);
  const reader = reply.body?.getReader();
  const first = await reader?.read();
  await product.end("SIGKILL");
  const got = [Buffer.from(first?.value ?? [])];
  const rest = (async () => {
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) return "a clean end";
      got.push(Buffer.from(part.value));
    }
  })();
  await expect(rest).rejects.toThrow();
  const bytes = Buffer.concat(got);
  expect(bytes.equals(file.content.subarray(0, bytes.length))).toBe(true);
});
