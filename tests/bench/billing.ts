import pg from "pg";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";

/** Checks the ledger after a run: every answered request was held, settled and charged. */
export async function checkBilling(postgresUrl: string, answered: number): Promise<string> {
  const client = new pg.Client(postgresUrl);
  await client.connect();
  try {
    const rows = async <Row>(sql: string) => (await client.query(sql)).rows as Row[];
    const faults = await findLedgerFaults({ rows });
    const [row] = await rows<{ settled: number; others: number }>(
      `select count(*) filter (where total_cost > 0)::int as settled,
         count(*) filter (where coalesce(total_cost, 0) = 0)::int as others
       from inference_request`,
    );
    if (faults.length > 0 || row?.settled !== answered || row.others > 0)
      throw new Error(
        `${answered} requests were answered, the ledger has ${JSON.stringify({ row, faults })}`,
      );
    return `${answered} requests were held, settled and charged on PostgreSQL with fsync; the ledger has no fault`;
  } finally {
    await client.end();
  }
}
