import { describe, expect, test } from "vitest";
import { readOffsetPage } from "../../../src/chain/direct/offset-page.ts";
import { pendingRefunds } from "../../../src/chain/direct/refunds.ts";
import { memoizeFor } from "../../../src/kernel/async/memoize-for.ts";
import { encodeCursor } from "../../../src/kernel/page.ts";

describe("a list read from a contract", () => {
  const asked: (readonly [bigint, bigint])[] = [];
  const listOf = (length: number) => async (offset: bigint, limit: bigint) => {
    asked.push([offset, limit]);
    const rows = Array.from({ length }, (_, id) => ({ id })).slice(Number(offset), Number(offset + limit));
    return { rows, total: BigInt(length) };
  };
  const idsOf = (rows: readonly { id: number }[]) => rows.map(({ id }) => id);

  test("is read 50 rows at a time, with one row beyond the page, and resumes after its cursor", async () => {
    asked.length = 0;
    const first = await readOffsetPage("list", { first: 100 }, listOf(120));
    expect(asked).toEqual([
      [0n, 50n],
      [50n, 50n],
      [100n, 1n],
    ]);
    expect([first.rows.length, first.hasNextPage]).toEqual([100, true]);
    const rest = await readOffsetPage("list", { first: 100, after: first.rows.at(-1)?.cursor }, listOf(120));
    expect([...idsOf(first.rows), ...idsOf(rest.rows)]).toEqual(Array.from({ length: 120 }, (_, id) => id));
    expect(rest.hasNextPage).toBe(false);
  });

  test("is read from its end, and back to its start", async () => {
    const last = await readOffsetPage("list", { last: 70 }, listOf(120));
    expect(idsOf(last.rows)).toEqual(Array.from({ length: 70 }, (_, n) => 50 + n));
    expect(last).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    const rest = await readOffsetPage("list", { last: 70, before: last.rows[0]?.cursor }, listOf(120));
    expect(idsOf(rest.rows)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(rest).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    expect((await readOffsetPage("list", { last: 1 }, listOf(0))).rows).toEqual([]);
  });

  test("ends where the contract claims more rows than it returns", async () => {
    const page = await readOffsetPage("list", { first: 10 }, async () => ({ rows: [], total: 1_000_000n }));
    expect(page).toEqual({ rows: [], hasNextPage: false, hasPreviousPage: false });
    const beyond = await readOffsetPage("list", { first: 10, after: encodeCursor("list", "500") }, listOf(3));
    expect(beyond.rows).toEqual([]);
  });

  test.each([
    [{ first: 0 }, "invalid_parameter"],
    [{ first: 101 }, "invalid_parameter"],
    [{ first: 1, after: encodeCursor("list", "-1") }, "invalid_cursor"],
    [{ first: 1, after: encodeCursor("list", "1e3") }, "invalid_cursor"],
    [{ first: 1, after: encodeCursor("list", "1", "2") }, "invalid_cursor"],
    [{ first: 1, after: "none" }, "invalid_cursor"],
  ])("refuses %o", async (page, code) => {
    await expect(readOffsetPage("list", page, listOf(3))).rejects.toMatchObject({ code });
  });
});

test("pending refunds exclude amounts that the contract only reserves, and unlock after the lock time", () => {
  const row = (index: bigint, amount: bigint, createdAt: bigint) => ({ index, amount, createdAt });
  const rows = [row(0n, 5n, 2_000n), row(1n, 0n, 1_500n), row(2n, 7n, 1_000n), row(3n, 9n, 500n)];
  expect(pendingRefunds(rows, 3n, 3_600n)).toEqual([
    { index: 2n, amount: 7n, requestedAt: new Date(1_000_000), unlocksAt: new Date(4_600_000) },
    { index: 0n, amount: 5n, requestedAt: new Date(2_000_000), unlocksAt: new Date(5_600_000) },
  ]);
  expect(pendingRefunds([], 0n, 3_600n)).toEqual([]);
});

test("a cached value is fetched once until it expires, and a failure is retried on the next read", async () => {
  let nowMs = 0;
  let asked = 0;
  const read = memoizeFor({ now: () => new Date(), monotonicMs: () => nowMs }, 1_000, async () => {
    if (++asked === 2) throw new Error("gone");
    return asked;
  });
  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  nowMs = 999;
  expect(await read()).toBe(1);
  nowMs = 1_000;
  await expect(read()).rejects.toThrow("gone");
  expect(await read()).toBe(3);
});
