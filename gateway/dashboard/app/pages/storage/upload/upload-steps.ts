import { graphql, reader, reasonOf } from "../../../data/query/graph.ts";
import type { Wallet } from "../../../data/wallet/wallet.ts";
import type { WalletChain } from "../../../data/wallet/wallet-requests.ts";
import { FileWorker } from "../file-worker.ts";
import type { FileReport, HashedFile } from "../worker/messages.ts";
import { alone } from "./alone.ts";
import { forgetPaid, isJustPaid, isSentSince, notePaid, notePaying } from "./payments.ts";
import { forgetUnfinished, rememberStored, rememberUnfinished, storedSegments } from "./unfinished.ts";

const PREPARE = graphql(`
  query PrepareUpload($input: PrepareUploadInput!) {
    prepareUpload(input: $input) { root alreadyFinalized fee transaction { to data value } }
  }
`);

const STATUS = graphql("query UploadedFile($root: Hash32!) { file(root: $root) { status } }");

/** Who pays for an upload, and on which chain. */
export type Payer = { readonly wallet: Wallet; readonly address: string; readonly chain: WalletChain };

/** The steps of an upload as they begin. */
export type UploadSteps = {
  onReport(report: FileReport): void;
  onHashed(file: HashedFile): void;
  /** `fee`: in neuron. */
  onPaying(fee: string): void;
  onSending(): void;
};

/**
 * Uploads a file: hashes it, submits its root to the chain unless the chain has it, and sends its segments. Of a file
 * that was submitted before, only the missing segments are sent, and nothing is paid again.
 */
export async function uploadFile(
  file: File,
  payer: Payer,
  steps: UploadSteps,
  signal: AbortSignal,
): Promise<HashedFile> {
  const { address } = payer;
  const worker = new FileWorker(signal);
  try {
    const hashed = await worker.hash(file, steps.onReport);
    steps.onHashed(hashed);
    rememberUnfinished(address, { root: hashed.root, name: file.name, sizeBytes: file.size });
    const input = { sizeBytes: String(file.size), nodes: [...hashed.nodes], from: address };
    const made = await reader.query(PREPARE, { input }).toPromise();
    signal.throwIfAborted();
    const upload = made.data?.prepareUpload;
    if (!upload) throw new Error(reasonOf(made.error));
    if (upload.root !== hashed.root) throw new Error("The gateway computed another root than this page.");
    if (!upload.alreadyFinalized) {
      const { transaction, fee } = upload;
      if (transaction)
        await alone(hashed.root, signal, async () => {
          if (isJustPaid(hashed.root)) return;
          steps.onPaying(fee);
          await pay({ root: hashed.root, transaction, payer }, signal);
        });
      signal.throwIfAborted();
      steps.onSending();
      await sendMissing(worker, { address, root: hashed.root }, steps.onReport);
    }
    forgetUnfinished(address, hashed.root);
    forgetPaid(hashed.root);
    return hashed;
  } finally {
    worker.end();
  }
}

type Payment = {
  readonly root: string;
  readonly transaction: { readonly to: string; readonly data: string; readonly value: string };
  readonly payer: Payer;
};

/**
 * Pays for the submission of a root, from the account that it names as its submitter. The page may be left while the
 * wallet asks its user, who then pays with no page to note it: the note from before the wallet was asked tells the next
 * upload, for which the wallet's count of sent transactions says whether one was sent since.
 */
async function pay({ root, transaction, payer }: Payment, signal: AbortSignal): Promise<void> {
  const { wallet, address, chain } = payer;
  const sender = { address, sentCount: await wallet.sentCount(address, chain) };
  signal.throwIfAborted();
  if (isSentSince(root, sender)) return;
  notePaying(root, sender);
  try {
    await wallet.send({ ...transaction, chain, from: address });
  } catch (error) {
    if (sender.sentCount === undefined) forgetPaid(root);
    throw error;
  }
  notePaid(root);
}

type Sent = { readonly address: string; readonly root: string };

/**
 * Sends what the gateway has not stored, as far as this browser kept it. If it does not have the whole file then, as
 * after a reorg that removed it, everything is sent.
 */
async function sendMissing(
  worker: FileWorker,
  { address, root }: Sent,
  onReport: (report: FileReport) => void,
): Promise<void> {
  const watch = (report: FileReport) => {
    if (report.kind === "segments") rememberStored(address, root, report.states);
    onReport(report);
  };
  const stored = storedSegments(address, root);
  await worker.send(stored, watch);
  if (stored.size === 0) return;
  const { data } = await reader.query(STATUS, { root }).toPromise();
  if (data?.file?.status !== "FINALIZED") await worker.send(new Set(), watch);
}
