import { creditDeposit, openAccount } from "../../src/accounts/ledger.store.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";

/** An account with balance and an `sk-` key, as the ledger has it. */
export type Seeded = { readonly account: string; readonly keyId: string; readonly secret: string };

let accounts = 0;

/** Opens a new account, credits a deposit with its deposit row, and creates a key. */
export async function seedAccount(database: Database, neuron: bigint): Promise<Seeded> {
  const account = `0x${(++accounts).toString(16).padStart(8, "0")}${newId().replaceAll("-", "")}`.slice(
    0,
    42,
  );
  await database.transaction(async (tx) => {
    await openAccount(tx, account);
    if (neuron > 0n) await bookDeposit(tx, account, neuron);
  });
  const apiKeys = new ApiKeyService({ database, clock: systemClock, committed: () => {} });
  const { key, secret } = await apiKeys.create(account, "test");
  return { account, keyId: key.id, secret };
}

/** Credits a deposit, with its deposit row. */
export async function bookDeposit(
  tx: { rows: Database["rows"] },
  account: string,
  neuron: bigint,
): Promise<void> {
  const id = newId();
  await tx.rows(
    `insert into deposit (id, account, amount, status, chain_id, transaction_hash, log_index, block_number, block_hash)
     values ($1, $2, $3::numeric, 'confirmed', 16602, $4, 0, 1, $4)`,
    [id, account, neuron.toString(), `0x${id.replaceAll("-", "").padStart(64, "0")}`],
  );
  await creditDeposit(tx, { account, amount: neuron, transferId: `deposit:${id}` });
}
