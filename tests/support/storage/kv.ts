import { createTestClient, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { App } from "../../../src/app.ts";
import { connectDevnet, mined } from "../../../src/devnet/chain/chain-client.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Recipient } from "../../../src/storage/encryption/file-encryption.ts";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import type { StreamControl, StreamData, StreamWrite } from "../../../src/storage/kv/stream-data.ts";
import { hashBytes } from "../../../src/storage/merkle/file-tree.ts";
import { SEGMENT_BYTES } from "../../../src/storage/merkle/shape.ts";
import { decodeSubmit, SUBMIT_TOPIC } from "../../../src/storage/submissions/submission.ts";
import type { PreparedUpload } from "../../../src/storage/uploads/uploads.service.ts";
import { until } from "../until.ts";

/** A writer of streams, with its own funded account. */
export type Writer = { readonly address: Hex; readonly wallet: Awaited<ReturnType<typeof connectDevnet>> };

/** A new account with money. */
export async function newWriter(rpcUrl: string): Promise<Writer> {
  const key = generatePrivateKey();
  const { address } = privateKeyToAccount(key);
  await createTestClient({ mode: "anvil", transport: http(rpcUrl) }).setBalance({
    address,
    value: parseEther("10"),
  });
  return { address: address.toLowerCase() as Hex, wallet: await connectDevnet(rpcUrl, key) };
}

/** Submits the prepared transaction, and returns its sequence number. */
export async function submit({ wallet }: Writer, { transaction }: PreparedUpload): Promise<bigint> {
  if (!transaction) throw new Error("there is nothing to submit");
  const { to, data, value } = transaction;
  const hash = await mined(wallet, await wallet.sendTransaction({ to, data, value }));
  const { logs } = await wallet.getTransactionReceipt({ hash });
  const log = logs.find(({ topics }) => topics[0] === SUBMIT_TOPIC);
  if (!log) throw new Error("the transaction submitted nothing");
  return decodeSubmit(log).txSeq;
}

/** Uploads a file whose submission is on chain. */
export async function upload(app: App, content: Buffer, txSeq: bigint): Promise<void> {
  await until(async () => (await app.submissions.find(txSeq)) !== undefined);
  const tree = hashBytes(new Keccak(), content);
  for (let index = 0; index * SEGMENT_BYTES < content.length; index++) {
    const rest = content.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
    const data = Buffer.concat([rest, Buffer.alloc((256 - (rest.length % 256)) % 256)]);
    const [{ root }, sizeBytes] = [tree, content.length];
    await app.uploads.put({ root, txSeq, index, data, proof: tree.proof(index), sizeBytes });
  }
}

/** A short description of a transaction on streams. */
export type Writing = {
  readonly version?: bigint;
  readonly reads?: StreamData["reads"];
  readonly writes?: readonly StreamWrite[];
  readonly controls?: readonly StreamControl[];
  readonly recipient?: Recipient;
};

/** Submits and uploads a transaction on streams, and returns its sequence number. It is replayed soon. */
export async function write(
  app: App,
  writer: Writer,
  { reads = [], writes = [], controls = [], ...more }: Writing,
): Promise<bigint> {
  const prepared = await app.kvWrites.prepare({ reads, writes, controls, from: writer.address, ...more });
  const txSeq = await submit(writer, prepared);
  await upload(app, prepared.content, txSeq);
  return txSeq;
}

/** The result of a transaction, as soon as it is decided. */
export async function resultOf(app: App, txSeq: bigint): Promise<string | null> {
  return until(async () => {
    const [transaction] = await app.kv.transactions([txSeq]);
    return transaction ? { result: transaction.result } : false;
  }).then(({ result }) => result);
}

let streams = 0;

/** A new stream. */
export function newStream(): Hex {
  return `0x${(++streams).toString(16).padStart(64, "5")}`;
}
