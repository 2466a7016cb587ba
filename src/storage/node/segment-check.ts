import { AppError } from "../../kernel/errors.ts";
import type { Hashing } from "../merkle/file-tree.ts";
import { proofFault } from "../merkle/proof.ts";
import { type FileShape, fileShape, MAX_FILE_BYTES, segmentBytes, segmentLeaves } from "../merkle/shape.ts";
import type { UploadedSegment } from "./storage-node.ts";

/** The invalid part of an uploaded segment, as the network's nodes name it. */
type SegmentPart = "root" | "fileSize" | "index" | "data" | "proof";

/** Throws `segment_refused`. The text equals that of the network's nodes, because clients match on it. */
export function refuseSegment(part: SegmentPart, text: string): never {
  throw new AppError("segment_refused", text, { param: part });
}

/** The layout of a file of this size. Throws `segment_refused` for an invalid size, `file_too_large` above 64 GiB. */
export function checkedShape(sizeBytes: number): FileShape {
  if (!Number.isInteger(sizeBytes) || sizeBytes < 1) refuseSegment("fileSize", "invalid file size");
  if (sizeBytes > MAX_FILE_BYTES)
    throw new AppError("file_too_large", `A file has at most ${MAX_FILE_BYTES} bytes.`, {
      param: "fileSize",
    });
  return fileShape(sizeBytes);
}

/**
 * Checks a segment against a file of this shape: its index, its length, and that its proof leads from its bytes to the
 * root. Returns its padded root, and whether it is the last segment. Throws `segment_refused`.
 */
export async function checkSegment(
  { root, index, data, proof }: UploadedSegment,
  shape: FileShape,
  { keccak, hasher }: Hashing,
): Promise<{ readonly segmentRoot: Uint8Array; readonly isLast: boolean }> {
  if (data.length === 0) refuseSegment("data", "data is empty");
  if (!Number.isInteger(index) || index < 0 || index >= shape.segments)
    refuseSegment("index", "index out of bound");
  if (data.length !== segmentBytes(shape, index)) refuseSegment("data", "invalid data length");
  const segmentRoot = await hasher.rootOfChunks(data, segmentLeaves(shape, index));
  const fault = proofFault(keccak, { root, shape }, index, segmentRoot, proof);
  if (fault) refuseSegment("proof", fault);
  return { segmentRoot, isLast: index === shape.segments - 1 };
}
