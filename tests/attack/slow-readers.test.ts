// @module-tag medium
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type MemoryLease, memoryLimits } from "../../src/load/memory-budget.ts";
import { useStack } from "../support/stack.ts";
import { encodeFolder } from "../support/storage/folder.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const MIB = 2 ** 20;
/** No download ends because its client is slow. */
const CLIENT_STALL_MS = "600000";
const stack = useStack({ STORAGE_CACHE_MIB: "0", TRUSTED_PROXIES: "127.0.0.1", CLIENT_STALL_MS });
/** What other requests leave for anonymous clients: enough for four active downloads. */
const LEFT_BYTES = 4 * MIB;
const READERS_PER_ADDRESS = 6;
const ADDRESSES = ["192.0.2.1", "192.0.2.2"];
const OTHER = { "x-forwarded-for": "192.0.2.3" };
const PARTS = 30;

let part: PublishedFile;
let tiny: PublishedFile;
let large: string;
let uploaded: PublishedFile;
const memory = () => stack().app.load.memory;
const downloadBytes = () => memory().usedBytes - held.reduce((sum, { bytes }) => sum + bytes, 0);

beforeAll(async () => {
  const publisher = await startPublisher(stack());
  part = await publisher.publish(randomBytes(700_000));
  tiny = await publisher.publish(Buffer.from("a"));
  // A small file many times in place of a large one.
  const entries = [
    { name: "large", type: "file", roots: Array(PARTS).fill(part.root), size: PARTS * part.sizeBytes },
  ];
  const folder = await publisher.publish(encodeFolder({ name: "/", type: "directory", entries }));
  large = `/file/${folder.root}/large`;
  uploaded = prepareFile(randomBytes(262_144));
  await publisher.submit(uploaded);
});

const sockets: Socket[] = [];
const held: MemoryLease[] = [];
beforeEach(() => {
  const lease = memory().open({ kind: "address", id: "198.51.100.1" });
  lease.charge(memoryLimits(256 * MIB).addressesBytes - LEFT_BYTES);
  held.push(lease);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const lease of held.splice(0)) lease.release();
  await until(() => memory().usedBytes === 0);
});

/** Sends a request and reads nothing but the start of its answer. */
async function hold(request: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(stack().origin).port), host: "127.0.0.1" });
  socket.on("error", () => {});
  sockets.push(socket);
  socket.write(request);
  await once(socket, "readable");
  return socket;
}

const download = (path: string, address: string) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\n\r\n`;

async function requireService(): Promise<void> {
  const { origin } = stack();
  const small = await fetch(`${origin}/file?root=${tiny.root}`, { headers: OTHER });
  expect([small.status, await small.text()]).toEqual([200, "a"]);
  const upload = await fetch(`${origin}/file/segment`, {
    method: "POST",
    headers: { "content-type": "application/json", ...OTHER },
    body: JSON.stringify({ root: uploaded.root, ...uploaded.segments[0] }),
  });
  expect([upload.status, await upload.json()]).toMatchObject([200, { code: 0 }]);
  const whole = await fetch(`${origin}/file?root=${part.root}`, { headers: OTHER });
  expect(Buffer.from(await whole.arrayBuffer()).equals(part.content)).toBe(true);
}

/** Asks for segments over JSON-RPC, which cannot be read again. */
const segments = (address: string) => {
  const calls = Array.from({ length: 90 }, (_, id) => ({
    ...{ jsonrpc: "2.0", id, method: "zgs_downloadSegment", params: [part.root, 0, 1_024] },
  }));
  const body = JSON.stringify(calls);
  const head = `POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json`;
  return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

describe("while many clients do not read what they download", () => {
  test("they hold no memory, other clients download and upload, and none of the downloads ends", async () => {
    const readers: Socket[] = [];
    for (let n = 0; n < READERS_PER_ADDRESS; n++)
      for (const address of ADDRESSES)
        readers.push(
          await until(async () => {
            const socket = await hold(download(large, address));
            const head = String(socket.read() ?? "");
            if (head.startsWith("HTTP/1.1 200")) return socket;
            socket.destroy();
            return false;
          }),
        );
    await until(() => downloadBytes() === 0);
    await requireService();
    expect(readers.every((socket) => !socket.destroyed)).toBe(true);
  });

  test("answers that cannot be paused give way to other clients", async () => {
    for (const address of ADDRESSES) await hold(segments(address));
    await until(() => downloadBytes() === LEFT_BYTES);
    await until(async () => {
      await requireService();
      return true;
    });
    expect(downloadBytes()).toBeLessThan(LEFT_BYTES);
  });

  test("a download that was paused has every byte", async () => {
    const socket = connect({ port: Number(new URL(stack().origin).port), host: "127.0.0.1" });
    sockets.push(socket);
    socket.write(download(large, ADDRESSES[0] ?? ""));
    const chunks: Buffer[] = [];
    let received = 0;
    let pauses = 0;
    for await (const chunk of socket) {
      chunks.push(chunk as Buffer);
      received += (chunk as Buffer).length;
      if (received > pauses * 6 * MIB && pauses < 3) {
        pauses++;
        await until(() => downloadBytes() === 0);
      }
      if (received > PARTS * part.sizeBytes) break;
    }
    expect(pauses).toBe(3);
    const all = Buffer.concat(chunks);
    const body = all.subarray(all.indexOf("\r\n\r\n") + 4);
    for (let n = 0; n < PARTS; n++)
      expect(body.subarray(n * part.sizeBytes, (n + 1) * part.sizeBytes).equals(part.content)).toBe(true);
    expect(body.length).toBe(PARTS * part.sizeBytes);
  });
});
