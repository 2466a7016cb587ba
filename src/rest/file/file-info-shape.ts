import { z } from "zod";
import type { ChainFile } from "../../storage/files.service.ts";

const hash = z.string().regex(/^0x[0-9a-f]{64}$/);
const count = z.int().min(0);

/** The metadata of a file, in the format of the network's gateway (facts: storage section 1.5). */
export const FILE_INFO = z
  .strictObject({
    tx: z.strictObject({
      streamIds: z.array(z.string()),
      data: z.string(),
      dataMerkleRoot: hash,
      startEntryIndex: count,
      size: count,
      seq: count,
    }),
    finalized: z.boolean(),
    isCached: z.boolean(),
    uploadedSegNum: count,
    pruned: z.boolean(),
  })
  .meta({ id: "FileInfo" });

/** Numbers are JSON numbers in this format: the network is far from 2^53 of anything. */
export function toFileInfo(file: ChainFile): z.output<typeof FILE_INFO> {
  return {
    tx: {
      streamIds: [],
      data: "",
      dataMerkleRoot: file.root,
      startEntryIndex: Number(file.startEntryIndex),
      size: file.sizeBytes,
      seq: Number(file.txSeq),
    },
    finalized: file.finalized,
    isCached: file.isCached,
    uploadedSegNum: file.uploadedSegments,
    pruned: file.pruned,
  };
}
