import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { BaseError, createPublicClient, createWalletClient, defineChain, type Hex, http, isHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { OperationRefused, ZerographError } from "../core/errors.ts";
import { type FileTree, hashFile } from "../files/file-tree.ts";
import { type Client, createClient } from "../index.ts";
import {
  PrepareUploadDocument,
  type PrepareUploadQuery,
  WalletNetworkDocument,
} from "../operations/graphql.ts";
import type { Invocation } from "./command.ts";
import { UnfinishedUpload, UsageError } from "./exit.ts";
import { sendAgain } from "./rest.ts";
import { required } from "./settings.ts";

/** The file and its segments are in memory. */
const MAX_BYTES = 256 * 1_048_576;
const PIECE_BYTES = 1_048_576;
const SEEN_WITHIN_MS = 120_000;
const SEEN_EVERY_MS = 1_000;

type Transaction = NonNullable<NonNullable<PrepareUploadQuery["prepareUpload"]>["transaction"]>;

/** `files put`: hashes a file, submits its root with the wallet's transaction, and uploads its segments. */
export async function put(path: string, { settings, print }: Invocation): Promise<number> {
  const content = readFile(path);
  const size = content.length;
  const account = privateKeyToAccount(walletKeyOf(settings.walletKey));
  const client = createClient({ url: settings.url });
  const tree = await hashFile(content, () => {});
  const input = { sizeBytes: String(size), nodes: [...tree.nodes], from: account.address };
  const { prepareUpload: prepared } = await client.query(PrepareUploadDocument, { input });
  if (prepared?.root !== tree.root)
    throw new OperationRefused("root_mismatch", "The gateway computed another root than this command.");
  const transactionHash = prepared.transaction
    ? await submit(client, account, prepared.transaction)
    : undefined;
  if (!prepared.alreadyFinalized)
    await sendSegments(settings.url, tree).catch((cause: unknown) => {
      throw new UnfinishedUpload("the upload failed", { cause });
    });
  const fee = prepared.transaction?.value ?? "0";
  const { root, segments } = tree;
  const parts = segments.length === 1 ? "1 segment" : `${segments.length} segments`;
  print(
    { root, sizeBytes: size, segments: segments.length, transactionHash, feeNeuron: fee },
    () => `${root}\n${size} bytes in ${parts}, a fee of ${fee} neuron`,
  );
  return 0;
}

/**
 * The bytes of a file or a pipe. Its size is that of what was read: one that grows meanwhile would be submitted with
 * another size than its content has.
 */
function readFile(path: string): Buffer<ArrayBuffer> {
  const found = statSync(path);
  if (found.isDirectory()) throw new UsageError(`${path} is a folder: this command takes one file.`);
  if (found.size > MAX_BYTES) throw wrongSize(path, `${found.size}`);
  const pieces: Uint8Array[] = [];
  const piece = new Uint8Array(PIECE_BYTES);
  let size = 0;
  const file = openSync(path, "r");
  try {
    for (let read = -1; read !== 0; ) {
      read = readSync(file, piece);
      size += read;
      if (size > MAX_BYTES) throw wrongSize(path, `more than ${MAX_BYTES}`);
      pieces.push(piece.slice(0, read));
    }
  } finally {
    closeSync(file);
  }
  if (size === 0) throw wrongSize(path, "0");
  return Buffer.concat(pieces);
}

function wrongSize(path: string, size: string): UsageError {
  return new UsageError(`${path} has ${size} bytes: this command takes 1 to ${MAX_BYTES}.`);
}

function walletKeyOf(given: string | undefined): Hex {
  const key = required(
    given,
    "ZEROGRAPH_WALLET_KEY",
    "the private key of the account that pays for the file",
  );
  if (!isHex(key) || key.length !== 66)
    throw new UsageError("ZEROGRAPH_WALLET_KEY must be 0x and 64 hexadecimal digits.");
  return key;
}

async function submit(
  client: Client,
  account: ReturnType<typeof privateKeyToAccount>,
  { to, data, value }: Transaction,
): Promise<Hex> {
  const { network } = await client.query(WalletNetworkDocument, {});
  if (!network)
    throw new OperationRefused("unavailable", "The gateway does not know its network at the moment.");
  const chain = defineChain({
    id: network.chainId,
    name: network.name,
    nativeCurrency: { name: "0G", symbol: "0G", decimals: 18 },
    rpcUrls: { default: { http: network.rpcUrls } },
    // While viem looks for a replaced transaction it ignores a new block, and a development chain may mine no other.
    supportsTransactionReplacementDetection: false,
  });
  const wallet = createWalletClient({ account, chain, transport: http() });
  const transaction = { to: to as Hex, data: data as Hex, value: BigInt(value) };
  const hash = await wallet.sendTransaction(transaction).catch((cause: unknown) => {
    throw new OperationRefused("transaction_failed", `The transaction was not sent. ${reasonOf(cause)}`, {
      cause,
    });
  });
  const reader = createPublicClient({ chain, transport: http() });
  const receipt = await reader.waitForTransactionReceipt({ hash }).catch((cause: unknown) => {
    throw new ZerographError(
      "transaction_unconfirmed",
      `The transaction ${hash} was sent, but its receipt did not arrive. ${reasonOf(cause)} Once it is in a block, run the command again: then there is no further fee.`,
      { cause },
    );
  });
  if (receipt.status !== "success")
    throw new OperationRefused("transaction_reverted", `The transaction ${hash} was reverted.`);
  return hash;
}

/** What the chain or the connection to it says, without viem's description of the request. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof BaseError)) return String(cause);
  return `${cause.shortMessage} ${cause.details ?? ""}`.trim();
}

/** The gateway accepts segments once it has read the block of the submission, and each of them more than once. */
async function sendSegments(url: string, { root, segments }: FileTree): Promise<void> {
  for (const { index, data, proof } of segments) {
    const body = { root, index, data: Buffer.from(data).toString("base64"), proof };
    for (const deadlineMs = Date.now() + SEEN_WITHIN_MS; ; await sleep(SEEN_EVERY_MS))
      try {
        await sendAgain(`${url}/file/segment`, { method: "POST", body });
        break;
      } catch (error) {
        const isUnseen = error instanceof OperationRefused && error.status === 404;
        if (!isUnseen || Date.now() > deadlineMs) throw error;
      }
  }
}
