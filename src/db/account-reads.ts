/** A statement with `$1` parameters and their values. */
export type Statement = {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whether it has an order and a limit that an index serves: it is planned without bitmaps, which begin with all matches. */
  readonly isOrdered?: boolean;
};

/**
 * Expensive reads, each on behalf of an account: totals and lists over a whole history. They have a separate queue,
 * separate connections and a time limit, so that they block nothing else.
 */
export type AccountReads = {
  /**
   * The rows of one statement, planned with its values. Throws `rate_limit_exceeded` if too many reads of the account
   * are waiting, and `unavailable` if too many are waiting in total, the read takes too long, the database is
   * unreachable, or `signal` aborts, which also cancels the statement.
   */
  rows<Row>(account: string, statement: Statement, signal?: AbortSignal): Promise<readonly Row[]>;
};
