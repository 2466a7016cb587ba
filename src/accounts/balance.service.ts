import type { Database } from "../db/database.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";

/** The balance of an account, neuron. `held` is part of `deposit` and `credit`; `available` can be spent. */
export type Balance = {
  readonly deposit: bigint;
  readonly credit: bigint;
  readonly total: bigint;
  readonly held: bigint;
  readonly available: bigint;
  readonly asOf: Date;
};

/** Reads balances. */
export class BalanceService {
  readonly #database: Database;
  readonly #clock: Pick<Clock, "now">;

  constructor(database: Database, clock: Pick<Clock, "now"> = systemClock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** The balances of these accounts, in their order; zero for an account that never had money. */
  async byAccounts(addresses: readonly string[]): Promise<readonly Balance[]> {
    type Row = { address: string; deposit: string; credit: string; held: string };
    const rows = await this.#database.rows<Row>(BALANCES, [JSON.stringify(addresses)]);
    const byAddress = new Map(rows.map((row) => [row.address, row]));
    const asOf = this.#clock.now();
    return addresses.map((address) => toBalance(byAddress.get(address), asOf));
  }

  /** The balance of one account. */
  async byAccount(address: string): Promise<Balance> {
    const [balance] = await this.byAccounts([address]);
    if (!balance) throw new Error("every account has a balance");
    return balance;
  }

  /** When an account was created; null for one that never signed in, deposited or had a key. */
  async openedAt(address: string): Promise<Date | null> {
    const [row] = await this.#database.rows<{ opened_ms: string }>(OPENED, [address]);
    return row ? new Date(Number(row.opened_ms)) : null;
  }
}

/** Builds a balance from its three independent amounts, as an event or a row has them. */
export function toBalance(
  row: { deposit: string; credit: string; held: string } | undefined,
  asOf: Date,
): Balance {
  const deposit = BigInt(row?.deposit ?? 0);
  const credit = BigInt(row?.credit ?? 0);
  const held = BigInt(row?.held ?? 0);
  return { deposit, credit, total: deposit + credit, held, available: deposit + credit - held, asOf };
}

const BALANCES = `
  select address, (deposit + held - held_credit)::text as deposit, (credit + held_credit)::text as credit,
    held::text as held
  from account where address in (select jsonb_array_elements_text($1::jsonb))`;

const OPENED = `
  select floor(extract(epoch from created_at) * 1000)::bigint::text as opened_ms
  from account where address = $1::text`;
