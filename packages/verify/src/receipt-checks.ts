import {
  type Checkpoint,
  keyIdOf,
  type NoteKey,
  openCheckpoint,
  parseCheckpoint,
  parseVerifierKey,
} from "../../../src/receipts/format/checkpoint.ts";
import { verifyInclusion } from "../../../src/receipts/format/merkle-log.ts";
import {
  commitsTo,
  HASH_BYTES,
  type ReceiptHashes,
  readHex,
  receiptBytes,
  receiptLeafHash,
  verifyReceipt,
} from "../../../src/receipts/format/receipt.ts";
import type { Bundle } from "./bundle.ts";
import { type Finding, failed, notChecked, passed } from "./check.ts";

/** Whether the bundle's key is the one that the caller trusts. */
export function checkKey(
  { public_key: stated, key_id: keyId }: Bundle,
  trusted: string | undefined,
): Finding {
  const key = parseVerifierKey(stated);
  if (!key) return failed("The bundle's public key is malformed.");
  if (keyId !== keyIdOf(key)) return failed("The bundle's key_id is not that of its public key.");
  if (trusted === undefined)
    return notChecked(
      `No key was given to compare with. The bundle's own key is used, so anyone could have made it: ${stated}`,
    );
  return trusted.trim() === stated
    ? passed(`The bundle's key is the one that you trust: ${stated}`)
    : failed(`The bundle has another key than the one that you trust: ${stated}`);
}

/** Whether the receipt commits to a body at one of its places. */
export function checkBody(
  { receipt }: Bundle,
  place: keyof ReceiptHashes,
  body: Uint8Array | undefined,
): Finding {
  const what = place === "received" ? "the request" : "the answer";
  if (body === undefined) return notChecked(`The file with ${what} was not given.`);
  if (readHex(receipt.salt)?.length !== HASH_BYTES) return failed("The receipt's salt has another length.");
  if (receipt.hashes[place] === null) return notChecked(`The receipt has no hash of ${what}.`);
  return commitsTo(receipt, place, body)
    ? passed(`The receipt is of ${what} in the file, byte for byte (${body.length} bytes).`)
    : failed(`The receipt is of other bytes than ${what} in the file.`);
}

/** Whether the router signed the receipt. */
export function checkSignature(bundle: Bundle): Finding {
  const { receipt, signature } = bundle;
  return verifyReceipt(receipt, signature, keyOf(bundle))
    ? passed("The router's key signed the receipt as it is: its charge, usage, provider and hashes.")
    : failed("The receipt was changed, or the router's key did not sign it.");
}

/** Whether the key signed the head of the log. */
export function checkCheckpoint(bundle: Bundle): Finding {
  const checkpoint = openCheckpoint(bundle.log.checkpoint, keyOf(bundle));
  return checkpoint
    ? passed(
        `The router's key signed the head of the log ${checkpoint.origin} at ${checkpoint.size} receipts.`,
      )
    : failed("The router's key did not sign this head of the log.");
}

/** Whether the log has the receipt under the head in the bundle, regardless of who signed the head. */
export function checkInclusion({ receipt, log }: Bundle): Finding {
  const head = headOf(log.checkpoint);
  if (!head) return failed("The head of the log is malformed.");
  const { size, root } = head;
  if (log.tree_size !== size)
    return failed(`The proof is for ${log.tree_size} receipts, the head of the log has ${size}.`);
  const proof = log.inclusion_proof.map(readHex);
  if (!proof.every((hash) => hash !== undefined)) return failed("The proof has a malformed hash.");
  const leaf = receiptLeafHash(receiptBytes(receipt));
  return verifyInclusion({ leaf, index: log.leaf_index, size, proof, root })
    ? passed(`The receipt is number ${log.leaf_index} of the log: it cannot be changed or removed unnoticed.`)
    : failed("The proof does not lead from the receipt to the head of the log.");
}

function keyOf({ public_key: text }: Bundle): NoteKey {
  const key = parseVerifierKey(text);
  if (!key) throw new Error("the public key is malformed");
  return key;
}

function headOf(note: string): Checkpoint | undefined {
  return parseCheckpoint(note.slice(0, note.lastIndexOf("\n\n") + 1));
}
