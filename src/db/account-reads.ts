/** A statement with `$1` parameters, and their values. */
export type Statement = { readonly text: string; readonly values: readonly unknown[] };

/**
 * Expensive reads, each on behalf of an account: sums and lists over a whole history. They have turns and connections of
 * their own, so that they hold up nothing else, and a limit of time.
 */
export type AccountReads = {
  /**
   * The rows of one statement, planned with its values. Throws `rate_limit_exceeded` when too many reads of the account
   * wait, and `unavailable` when too many wait in all, when it takes too long, when the database is out of reach, or
   * when `signal` aborts, which also cancels the statement.
   */
  rows<Row>(account: string, statement: Statement, signal?: AbortSignal): Promise<readonly Row[]>;
};
