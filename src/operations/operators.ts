import { AppError } from "../kernel/errors.ts";

/** The accounts that operate this service (`OPERATORS`). */
export class Operators {
  readonly #accounts: ReadonlySet<string>;

  constructor(accounts: readonly string[]) {
    this.#accounts = new Set(accounts.map((account) => account.toLowerCase()));
  }

  /** Whether the account, in any letter case, is an operator's. */
  has(account: string): boolean {
    return this.#accounts.has(account.toLowerCase());
  }

  /** Throws `access_denied` unless the account is an operator's. */
  require(account: string): void {
    if (this.has(account)) return;
    throw new AppError("access_denied", "Only an operator of this service may do this (OPERATORS).");
  }
}
