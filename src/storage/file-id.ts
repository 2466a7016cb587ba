import { AppError } from "../kernel/errors.ts";
import { isHash32, lowerHex } from "../kernel/text/hex.ts";
import type { FileId } from "./node/storage-node.ts";

const TX_SEQ_LIMIT = 2n ** 64n;

/** Parses the file id in a path: the decimal number of a submission, or a root. Throws `invalid_parameter`. */
export function readCid(text: string): FileId {
  if (isHash32(text)) return { root: lowerHex(text) };
  const txSeq = toTxSeq(text);
  if (txSeq !== undefined) return { txSeq };
  throw new AppError("invalid_parameter", "A file id is 0x and 64 hexadecimal digits, or a txSeq.", {
    param: "cid",
  });
}

/**
 * Parses the root or the txSeq of a query: exactly one of the two. Throws `invalid_parameter` for neither, for both,
 * and for a malformed value.
 */
export function readFileId({
  root,
  txSeq,
}: {
  readonly root?: string | undefined;
  readonly txSeq?: string | undefined;
}): FileId {
  if (root === undefined && txSeq === undefined)
    throw new AppError("invalid_parameter", "Either 'root' or 'txSeq' must be provided");
  if (root !== undefined && txSeq !== undefined)
    throw new AppError("invalid_parameter", "Only one of 'root' and 'txSeq' may be provided");
  if (root !== undefined) {
    if (isHash32(root)) return { root: lowerHex(root) };
    throw new AppError("invalid_parameter", "A root is 0x and 64 hexadecimal digits.", { param: "root" });
  }
  const number = toTxSeq(txSeq ?? "");
  if (number !== undefined) return { txSeq: number };
  throw new AppError("invalid_parameter", "A txSeq is a whole number below 2^64.", { param: "txSeq" });
}

function toTxSeq(text: string): bigint | undefined {
  if (!/^(0|[1-9]\d{0,19})$/.test(text)) return undefined;
  const number = BigInt(text);
  return number < TX_SEQ_LIMIT ? number : undefined;
}
