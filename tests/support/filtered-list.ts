import { expect } from "vitest";
import type { RowCount } from "../../src/db/count-rows.ts";
import type { Page, PageRequest } from "../../src/kernel/page.ts";

/** A list under a filter: how it is read, counted, and continued after a row. */
type FilteredList<Row> = {
  readonly list: (page: PageRequest) => Promise<Page<Row>>;
  readonly count: () => Promise<RowCount>;
  readonly cursorOf: (row: Row) => string;
};

const SIZE = 7;

/**
 * Reads a list in pages from both ends, and expects these rows, right `hasNextPage` and `hasPreviousPage`, and their
 * exact number. `name` is shown where a row differs.
 */
export async function expectRows<Row>(
  name: string,
  { list, count, cursorOf }: FilteredList<Row>,
  expected: readonly Row[],
): Promise<void> {
  const forwards: Row[] = [];
  for (let after: string | undefined; ; ) {
    const page = await list({ first: SIZE, after });
    forwards.push(...page.rows);
    expect([page.hasPreviousPage, page.hasNextPage], name).toEqual([
      after !== undefined,
      forwards.length < expected.length,
    ]);
    const last = page.rows.at(-1);
    if (!page.hasNextPage || !last) break;
    after = cursorOf(last);
  }
  expect(forwards, name).toEqual(expected);
  const backwards: Row[] = [];
  for (let before: string | undefined; ; ) {
    const page = await list({ last: SIZE, before });
    backwards.unshift(...page.rows);
    expect([page.hasPreviousPage, page.hasNextPage], name).toEqual([
      backwards.length < expected.length,
      before !== undefined,
    ]);
    const [first] = page.rows;
    if (!page.hasPreviousPage || !first) break;
    before = cursorOf(first);
  }
  expect(backwards, name).toEqual(expected);
  expect(await count(), name).toEqual({ rows: expected.length, isExact: true });
}
