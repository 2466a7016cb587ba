import type { AccountReads, Statement } from "./account-reads.ts";
import type { Queries } from "./database.ts";

/** A read of what belongs to an account: the connection, the account, the filter, and a signal that cancels it. */
export type AccountRead<Filter> = {
  readonly reads: AccountReads;
  readonly account: string;
  readonly filter: Filter;
  readonly signal?: AbortSignal | undefined;
};

/** The reads of an account as queries of a store, each planned with `plan`. */
export function queriesOf(
  { reads, account, signal }: Omit<AccountRead<unknown>, "filter">,
  plan: Pick<Statement, "isOrdered"> = {},
): Queries {
  return {
    rows: <Row>(text: string, values: readonly unknown[] = []) =>
      reads.rows<Row>(account, { text, values, ...plan }, signal),
  };
}

/** Runs the statement of a read. */
export function runRead<Row>(
  { reads, account, signal }: Omit<AccountRead<unknown>, "filter">,
  statement: Statement,
): Promise<readonly Row[]> {
  return reads.rows<Row>(account, statement, signal);
}
