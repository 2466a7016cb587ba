import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
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

type Watched = {
  readonly isNew: boolean;
  /** Receives the rows to be inserted into a table. */
  readonly onRows?: (table: string, rows: readonly unknown[]) => void;
  /** Receives each part of the file that is read. */
  readonly onRead?: (part: Buffer) => void;
};

/**
 * Decides the transaction of ALICE with this file over an empty database, and returns its result: only the work on the
 * transaction is measured.
 */
async function decide(
  content: Buffer,
  { isNew, onRows = () => {}, onRead = () => {} }: Watched,
): Promise<string> {
  let result = "";
  const rows = async (sql: string, parameters: readonly unknown[]) => {
    await nextTurn();
    const [, table] = /insert into (kv_entry|kv_control)/.exec(sql) ?? [];
    if (table) onRows(table, JSON.parse(String(parameters[2])));
    if (/update kv_transaction/.test(sql)) result = String(parameters[2]);
    const rights = { stream_id: STREAM, is_new: isNew, admin: null, writer: null, has_key: true };
    if (/as is_new/.test(sql)) return [rights];
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
    async read(offset: number, length: number) {
      const part = Buffer.from(content.subarray(offset, offset + length));
      onRead(part);
      return part;
    },
  };
  const pending = {
    ...{ txSeq: 0n, root: HASH, sizeBytes: content.length, tags: encodeTags([STREAM]) },
    ...{ sender: ALICE, blockHash: HASH },
  };
  expect(await replay.decide(pending, file, new Set())).toBe("decided");
  return result;
}

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
  const turnMs = await repeatedTurnMs(LIMIT_MS, () =>
    decide(content, {
      isNew: true,
      onRows(table, rows) {
        if (table === "kv_entry") written += rows.length;
      },
    }),
  );
  expect(written).toBeGreaterThan(0);
  expect(written % MAX_LIST).toBe(0);
  expect(turnMs).toBeLessThan(LIMIT_MS);
});

test("a transaction with the longest key is refused in turns of the event loop", async () => {
  const key = Buffer.alloc(8 * 1_048_576 - 100, "a");
  const write = { streamId: STREAM, key, value: Buffer.of(1) };
  const content = encodeStreamData({ version: MAX_U64, reads: [], writes: [write], controls: [] });
  const turnMs = await repeatedTurnMs(LIMIT_MS, async () => {
    const result = await decide(content, { isNew: false });
    expect(result).toBe(`WritePermissionDenied: stream: ${STREAM}, key: ${"a".repeat(32)}`);
  });
  expect(turnMs).toBeLessThan(LIMIT_MS);
});

test("small values between large ones do not keep the file in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const large = Buffer.alloc(300_000);
  const writes = Array.from({ length: 256 }, (_, n) => ({
    ...{ streamId: STREAM, key: Buffer.of(1, n) },
    value: n % 2 === 0 ? Buffer.of(n) : large,
  }));
  const content = encodeStreamData({ version: MAX_U64, reads: [], writes, controls: [] });
  const parts: WeakRef<ArrayBufferLike>[] = [];
  let kept = 0;
  await decide(content, {
    isNew: true,
    onRead(part) {
      parts.push(new WeakRef(part.buffer));
    },
    onRows(table, rows) {
      if (table !== "kv_entry") return;
      collect();
      kept = parts.filter((part) => part.deref()).length;
      expect(rows.map((row) => (row as { value: string | null }).value)).toEqual(
        writes.map(({ value }) => (value.length === 1 ? value.toString("base64") : null)),
      );
    },
  });
  expect(parts.length).toBeGreaterThan(100);
  expect(kept).toBeLessThan(10);
});
