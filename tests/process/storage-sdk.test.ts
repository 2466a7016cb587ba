// @module-tag large
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as current from "@0gfoundation/0g-ts-sdk";
import * as legacy from "@0glabs/0g-ts-sdk";
import { JsonRpcProvider, Wallet } from "ethers";
import { createTestClient, http, parseEther } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { decryptFile } from "../../src/storage/encryption/file-encryption.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { NPM_START, newFolder, startReady } from "../support/servers/process.ts";
import { useStarted } from "../support/stack.ts";
import { newStream } from "../support/storage/kv.ts";
import { until } from "../support/until.ts";

// The network's own SDKs, as published on npm, against what `npm start` starts and prints. They pause for
// whole seconds between their steps, so everything runs in parallel.
const product = useStarted(async (onEnd) => {
  const settings = { DATA_DIR: newFolder(onEnd) };
  const { origin, saw } = await startReady({ script: NPM_START, settings, onEnd });
  const [, indexer = "", rpcUrl = ""] = await saw(/Storage SDKs +(\S+) \(indexer\), (\S+) \(chain 16602\)/);
  expect(indexer).toBe(origin);
  return { origin, rpcUrl };
});

const SIZES = [1, 1_000, 262_144, 262_145, 5 * 1_048_576] as const;

vi.setConfig({ maxConcurrency: 20 });
beforeAll(() => {
  for (const how of ["log", "error", "table"] as const) vi.spyOn(console, how).mockImplementation(() => {});
});

describe.concurrent.each([
  ["@0gfoundation/0g-ts-sdk", { ...current, keyOf: (key: Buffer) => key }],
  // It sends a key unencoded, so its callers write base64.
  ["@0glabs/0g-ts-sdk", { ...legacy, keyOf: (key: Buffer) => key.toString("base64") }],
] as const)("%s, unmodified", (_name, sdk) => {
  test.concurrent.for(SIZES)(
    "uploads %i bytes, and downloads the same with and without a proof",
    async (size, { onTestFinished }) => {
      const folder = newFolder(onTestFinished);
      const content = randomBytes(size);
      const indexer = new sdk.Indexer(product().origin);
      const file = await openFile(folder, content, onTestFinished);
      const [sent, failure] = await indexer.upload(file, product().rpcUrl, await newSigner(onTestFinished));
      expect(failure).toBeNull();
      const root = rootOf(sent);
      for (const proof of [false, true]) {
        const path = join(folder, `down-${proof}`);
        expect(await indexer.download(root, path, proof)).toBeNull();
        expect(readFileSync(path).equals(content)).toBe(true);
      }
    },
  );

  test.concurrent("writes to a stream, and reads it back at once by keys and by iteration", async ({
    onTestFinished,
  }) => {
    const { origin } = product();
    const streamId = newStream();
    const large = randomBytes(900_000);
    const values = new Map<string, Buffer>([
      ["a", Buffer.from("first")],
      ["b", large],
      ["c", Buffer.from("last")],
    ]);
    const txSeq = await writeStream(streamId, values, onTestFinished);
    const client = new sdk.KvClient(origin);
    for (const [key, value] of values) {
      // At once on most machines: a read waits for a write that is known, for a limited time (recent-writes.test.ts).
      const read = await until(async () => {
        const entry = await client.getValue(streamId, sdk.keyOf(Buffer.from(key)) as never);
        return entry !== null && entry.size > 0 && entry;
      });
      expect(read?.size).toBe(value.length);
      expect(read?.version).toBe(txSeq);
      expect(Buffer.from(String(read?.data), "base64").equals(value)).toBe(true);
    }
    expect(await client.getValue(streamId, sdk.keyOf(Buffer.from("none")) as never)).toMatchObject({
      size: 0,
      data: "",
    });
    expect(await client.getTransactionResult(txSeq)).toBe("Commit");
    expect(await client.getHoldingStreamIds()).toContain(streamId);
    const walk = client.newIterator(streamId);
    const seen: string[] = [];
    for (await walk.seekToFirst(); walk.valid(); await walk.next())
      seen.push(keyTextOf(walk.getCurrentPair()?.key));
    for (await walk.seekToLast(); walk.valid(); await walk.prev())
      seen.push(keyTextOf(walk.getCurrentPair()?.key));
    expect(seen).toEqual(["a", "b", "c", "c", "b", "a"]);
  });

  async function writeStream(
    streamId: Hex,
    values: ReadonlyMap<string, Buffer>,
    onEnd: OnEnd,
  ): Promise<number> {
    const { origin, rpcUrl } = product();
    const signer = await newSigner(onEnd);
    const [nodes, failure] = await new sdk.Indexer(origin).selectNodes(1);
    expect(failure).toBeNull();
    const flow = sdk.getFlowContract(contractAddresses().flow, signer);
    const batcher = new sdk.Batcher(Number.MAX_SAFE_INTEGER, nodes as never, flow as never, rpcUrl);
    for (const [key, value] of values) batcher.streamDataBuilder.set(streamId, Buffer.from(key), value);
    // Without its own options it writes its tags into the defaults of every later upload.
    const options = {
      tags: "0x",
      finalityRequired: true,
      taskSize: 10,
      expectedReplica: 1,
      skipTx: false,
      fee: 0n,
    };
    const [sent, refused] = await batcher.exec(options);
    expect(refused).toBeNull();
    const { data } = (await (await fetch(`${origin}/file/info/${sent.rootHash}`)).json()) as {
      data: { tx: { seq: number } };
    };
    return data.tx.seq;
  }

  async function openFile(folder: string, content: Buffer, onEnd: OnEnd) {
    const path = join(folder, "up");
    writeFileSync(path, content);
    const file = await sdk.ZgFile.fromFilePath(path);
    onEnd(() => file.close());
    return file as never;
  }
});

describe.concurrent("@0gfoundation/0g-ts-sdk and our encryption", () => {
  const key = randomBytes(32);
  const privateKey = generatePrivateKey();
  const publicKey = new Wallet(privateKey).signingKey.compressedPublicKey;

  test.concurrent.for([
    ["AES-256", { type: "aes256", key }, { symmetricKey: key }, { key }],
    [
      "ECIES",
      { type: "ecies", recipientPubKey: publicKey },
      { privateKey },
      { privateKey: Buffer.from(privateKey.slice(2), "hex") },
    ],
  ] as const)(
    "a file that the SDK encrypts with %s is decrypted by both, and the gateway returns it as stored",
    async ([, encryption, decryption, keys], { onTestFinished }) => {
      const { origin, rpcUrl } = product();
      const content = randomBytes(300_000);
      const indexer = new current.Indexer(origin);
      const file = new current.MemData(content);
      const [sent, failure] = await indexer.upload(file, rpcUrl, await newSigner(onTestFinished), {
        encryption: encryption as never,
      });
      expect(failure).toBeNull();
      const [blob, refused] = await indexer.downloadToBlob(rootOf(sent), { decryption: { ...decryption } });
      expect(refused).toBeNull();
      expect(Buffer.from(await blob.arrayBuffer()).equals(content)).toBe(true);
      const stored = await fetch(`${origin}/file?root=${rootOf(sent)}`);
      const bytes = Buffer.from(await stored.arrayBuffer());
      expect(bytes.includes(content.subarray(0, 64))).toBe(false);
      expect(decryptFile(bytes, keys).equals(content)).toBe(true);
    },
  );
});

/** A separate account, so that concurrent transactions do not share nonces. */
async function newSigner(onEnd: OnEnd) {
  const { rpcUrl } = product();
  const provider = new JsonRpcProvider(rpcUrl, undefined, { polling: true, pollingInterval: 50 });
  onEnd(async () => provider.destroy());
  const signer = new Wallet(generatePrivateKey(), provider);
  await createTestClient({ mode: "anvil", transport: http(rpcUrl) }).setBalance({
    address: signer.address as Hex,
    value: parseEther("100"),
  });
  return signer as never;
}

function rootOf(sent: unknown): string {
  const { rootHash } = sent as { rootHash: string };
  return rootHash;
}

/** The older SDK leaves the keys of an iterator in base64. */
function keyTextOf(key: unknown): string {
  return typeof key === "string"
    ? Buffer.from(key, "base64").toString()
    : Buffer.from(key as Uint8Array).toString();
}
