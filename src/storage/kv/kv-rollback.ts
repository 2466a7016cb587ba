import type { LogHandler } from "../../chain/watcher/log-handler.ts";
import type { Queries } from "../../db/database.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { SUBMIT_TOPIC } from "../submission.ts";
import { publishCommitted } from "./replay.service.ts";
import { forgetFrom, lockSubmissions } from "./replay.store.ts";
import { decodeTags } from "./stream-tags.ts";

/**
 * Takes back what was replayed of blocks that are gone, in the transaction in which their submissions go: every version
 * of a key is kept, so the ones before are there again. It must come before whoever deletes the submissions.
 */
export function kvRollback({ chainId, flow }: { readonly chainId: number; readonly flow: Hex }): LogHandler {
  return {
    addresses: [lowerHex(flow)],
    topics: [SUBMIT_TOPIC],
    // What comes is replayed from the rows of submissions, once its file is here.
    async apply() {},
    async revert(tx: Queries, from: bigint) {
      const first = await lockSubmissions(tx, chainId, from);
      if (first === undefined) return;
      for (const gone of await forgetFrom(tx, chainId, first))
        await publishCommitted(tx, gone, decodeTags(gone.tags) ?? [], true);
    },
  };
}
