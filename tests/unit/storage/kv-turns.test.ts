import { expect, test } from "vitest";
import { nextTurn } from "../../../src/kernel/async/next-turn.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { ReplayService } from "../../../src/storage/kv/replay.service.ts";
import { encodeStreamData, MAX_LIST, MAX_U64 } from "../../../src/storage/kv/stream-data.ts";
import { encodeTags } from "../../../src/storage/kv/stream-tags.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";

const LIMIT_MS = 50;
const ALICE: Hex = `0x${"a1".repeat(20)}`;
const STREAM: Hex = `0x${"11".repeat(32)}`;
const HASH: Hex = `0x${"22".repeat(32)}`;

test("a transaction with the longest lists is decided in turns of the event loop", async () => {
  const keyOf = (n: number) => Buffer.from(n.toString(16).padStart(6, "0"), "hex");
  const entry = (_: unknown, n: number) => ({ streamId: STREAM, key: keyOf(n) });
  const content = encodeStreamData({
    version: MAX_U64,
    reads: Array.from({ length: MAX_LIST }, (_, n) => entry(_, MAX_LIST + n)),
    writes: Array.from({ length: MAX_LIST }, (_, n) => ({ ...entry(_, n), value: Buffer.of(1) })),
    controls: Array.from({ length: 40_000 }, (_, n) => ({
      ...entry(_, n),
      ...{ op: "GRANT_SPECIAL_WRITER_ROLE" as const, account: ALICE },
    })),
  });
  let written = 0;
  // An empty database: only the work on the lists is measured.
  const rows = async (sql: string, parameters: readonly unknown[]) => {
    await nextTurn();
    if (/insert into kv_entry/.test(sql)) written += JSON.parse(String(parameters[2])).length;
    if (/as is_new/.test(sql)) return [{ stream_id: STREAM, is_new: true, admin: null, writer: null }];
    return /select 1 as there|insert into kv_transaction/.test(sql) ? [{}] : [];
  };
  const database = { rows, transaction: (work: (tx: object) => Promise<unknown>) => work({ rows }) };
  const replay = new ReplayService(
    { database, chainId: 1, clock: systemClock, log: createLogger("silent"), committed: () => {} } as never,
    { held: "all", keys: {}, dataWaitMs: 1_000 },
  );
  const file = {
    root: HASH,
    sizeBytes: content.length,
    read: async (offset: number, length: number) => content.subarray(offset, offset + length),
  };
  const pending = {
    ...{ txSeq: 0n, root: HASH, sizeBytes: content.length, tags: encodeTags([STREAM]) },
    ...{ sender: ALICE, blockHash: HASH },
  };
  const turnMs = await repeatedTurnMs(LIMIT_MS, async () => {
    expect(await replay.decide(pending, file, new Set())).toBe("decided");
  });
  expect(written).toBeGreaterThan(0);
  expect(written % MAX_LIST).toBe(0);
  expect(turnMs).toBeLessThan(LIMIT_MS);
});
