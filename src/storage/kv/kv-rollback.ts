import type { LogHandler } from "../../chain/watcher/log-handler.ts";
import type { Queries } from "../../db/database.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { SUBMIT_TOPIC } from "../submissions/submission.ts";
import { publishCommitted } from "./replay.service.ts";
import { forgetFrom, lockSubmissions } from "./replay.store.ts";
import { decodeTags } from "./stream-tags.ts";

/**
 * Rolls back the replay of reorged-out blocks, in the transaction that deletes their submissions: every version of a
 * key is stored, so the previous ones become current again. It must run before the handler that deletes submissions.
 */
export function kvRollback({ chainId, flow }: { readonly chainId: number; readonly flow: Hex }): LogHandler {
  return {
    addresses: [lowerHex(flow)],
    topics: [SUBMIT_TOPIC],
    // New submissions are replayed from their rows, once the file is stored.
    async apply() {},
    // Its rows are those of submissions, whose handler shares the cursor.
    async newestBlock() {
      return undefined;
    },
    async revert(tx: Queries, from: bigint) {
      const first = await lockSubmissions(tx, chainId, from);
      if (first === undefined) return;
      for (const gone of await forgetFrom(tx, chainId, first))
        await publishCommitted(tx, gone, decodeTags(gone.tags) ?? [], true);
    },
  };
}
