// @module-tag large
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { findEntry, findNeighbours, listEntries } from "../../src/storage/kv/entry.store.ts";
import { insertWrites, keepDecision } from "../../src/storage/kv/replay.store.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const CHAIN = 16_602;
const SENDER: Hex = `0x${"a1".repeat(20)}`;

// Few letters, so that keys often share prefixes, and lengths around the indexed length (512 bytes).
const key = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 510, 511, 512, 513),
    fc.array(fc.constantFrom(0x00, 0x61, 0xff), { minLength: 1, maxLength: 3 }),
  )
  .map(([common, end]) => Buffer.concat([Buffer.alloc(common, 0x7a), Buffer.from(end)]));
const history = fc.array(
  fc.uniqueArray(fc.record({ key, isDeleted: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
    selector: (write) => write.key.toString("hex"),
  }),
  { minLength: 1, maxLength: 4 },
);
const question = fc.record({
  version: fc.nat(4),
  direction: fc.constantFrom("up", "down"),
  from: fc.option(fc.record({ key, isInclusive: fc.boolean() }), { nil: undefined }),
  prefix: fc.option(
    key.map((bytes) => bytes.subarray(0, -1)),
    { nil: undefined },
  ),
  limit: fc.integer({ min: 1, max: 5 }),
});

describeDatabases("iterating over the keys of a stream", (kind) => {
  test("matches a sorted list of the newest versions, from any key in any direction", async () => {
    const database = await openTestDatabase(kind);
    let next = 1n;
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(question, { minLength: 3, maxLength: 6 }),
        async (writes, questions) => {
          const streamId: Hex = `0x${randomBytes(32).toString("hex")}`;
          const first = next;
          for (const round of writes) {
            const txSeq = next++;
            await database.rows(
              `insert into kv_transaction (chain_id, tx_seq, root, sender, is_committed) values (${CHAIN}, ${txSeq}, 'r', '${SENDER}', true)`,
            );
            await keepDecision(database, CHAIN, txSeq, {
              result: "Commit",
              isCommitted: true,
              encryptionHeader: undefined,
            });
            const stored = round.map(({ key: name, isDeleted }) => ({
              ...{ streamId, key: name, offset: 0, sizeBytes: isDeleted ? 0 : 1 },
              value: isDeleted ? undefined : Buffer.of(1),
            }));
            await insertWrites(database, CHAIN, txSeq, stored);
          }
          for (const { version: at, limit, ...asked } of questions) {
            const version = first + BigInt(at) - 1n;
            const newest = new Map<string, { key: Buffer; version: bigint; isDeleted: boolean }>();
            writes.forEach((round, n) => {
              if (first + BigInt(n) > version) return;
              for (const write of round)
                newest.set(write.key.toString("hex"), { ...write, version: first + BigInt(n) });
            });
            const { direction, from, prefix } = asked;
            const sign = direction === "up" ? 1 : -1;
            const expected = [...newest.values()]
              .filter((entry) => !entry.isDeleted)
              .filter((entry) => !prefix || entry.key.subarray(0, prefix.length).equals(prefix))
              .filter((entry) => {
                const order = from ? sign * Buffer.compare(entry.key, from.key) : 1;
                return order > 0 || (order === 0 && from?.isInclusive === true);
              })
              .sort((one, two) => sign * Buffer.compare(one.key, two.key));
            const where = { streamId, version, ...asked } as const;
            const found = await findNeighbours(database, CHAIN, where, limit);
            expect(found.map((entry) => [entry.key, entry.version])).toEqual(
              expected.slice(0, limit).map((entry) => [entry.key, entry.version]),
            );
            if (from) {
              const known = newest.get(from.key.toString("hex"));
              const entry = await findEntry(database, CHAIN, { streamId, key: from.key, version });
              expect([entry?.version, entry?.sizeBytes]).toEqual(
                known ? [known.version, known.isDeleted ? 0 : 1] : [undefined, undefined],
              );
            } else {
              const all: Buffer[] = [];
              for (let after: string | undefined, more = true; more; ) {
                const page = await listEntries(database, CHAIN, where, { first: limit, after });
                all.push(...page.rows.map((entry) => entry.key));
                after = page.rows.at(-1)?.cursor;
                more = page.hasNextPage;
              }
              expect(all).toEqual(expected.map((entry) => entry.key));
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test("does not scan an unlimited number of deleted keys in one call, and says so", async () => {
    const database = await openTestDatabase(kind);
    const streamId: Hex = `0x${"1".repeat(64)}`;
    await database.rows(
      `insert into kv_transaction (chain_id, tx_seq, root, sender, is_committed)
       select ${CHAIN}, n, 'r' || n, '${SENDER}', true from generate_series(1, 300) n`,
    );
    const insertDeleted = (stream: string, version: string, ordinal: string, key: string, count: number) =>
      database.rows(
        `insert into kv_entry (chain_id, version, ordinal, stream_id, key, size_bytes, value_offset)
         select ${CHAIN}, ${version}, ${ordinal}, ${stream}, convert_to(lpad((${key})::text, 9, '0'), 'UTF8'), 0, 0
         from generate_series(1, ${count}) n`,
      );
    // The stream is newer than the planner's statistics, by which a step might as well read all of it.
    await insertDeleted("'0x' || n % 40", "n % 300 + 1", "n", "n % 7", 400);
    await database.rows("analyze kv_entry");
    await insertDeleted(`'${streamId}'`, "1", "n + 1000", "n", 20_001);
    const where = { streamId, version: 1n, direction: "up" } as const;
    await expect(findNeighbours(database, CHAIN, where, 1)).rejects.toMatchObject({ code: "unavailable" });
    const from = { key: Buffer.from("000000100"), isInclusive: false };
    expect(await findNeighbours(database, CHAIN, { ...where, from }, 1)).toEqual([]);
  });
});

describeDatabases("a page of large keys", (kind) => {
  test("ends at 4 MiB and says that there is more, and the pages together have every key once", async () => {
    const database = await openTestDatabase(kind);
    const streamId: Hex = `0x${"6".repeat(64)}`;
    await database.rows(
      `insert into kv_transaction (chain_id, tx_seq, root, sender, is_committed) values (${CHAIN}, 1, 'r', '${SENDER}', true)`,
    );
    const keys = Array.from({ length: 12 }, (_, n) => Buffer.alloc(1_048_576, 0x61 + n));
    const stored = keys.map((bytes) => ({
      streamId,
      key: bytes,
      offset: 0,
      sizeBytes: 1,
      value: Buffer.of(1),
    }));
    await insertWrites(database, CHAIN, 1n, stored);
    const seen: Buffer[] = [];
    let after: string | undefined;
    for (let pages = 1; ; pages++) {
      const page = { first: 100, ...(after !== undefined && { after }) };
      const { rows, hasNextPage } = await listEntries(
        database,
        CHAIN,
        { streamId, version: 1n, direction: "up" },
        page,
      );
      expect(rows.reduce((sum, entry) => sum + entry.key.length, 0)).toBeLessThanOrEqual(5 * 1_048_576);
      seen.push(...rows.map((entry) => entry.key));
      after = rows.at(-1)?.cursor;
      if (!hasNextPage) break;
      expect(pages).toBeLessThan(6);
    }
    expect(seen.map((bytes) => bytes[0])).toEqual(keys.map((bytes) => bytes[0]));
  });
});
