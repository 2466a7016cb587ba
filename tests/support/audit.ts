import { randomUUID } from "node:crypto";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import { confirmVerified, saveSums, verifyNewTransfers } from "../../src/accounts/verified-ledger.store.ts";
import type { Queries } from "../../src/db/database.ts";
import { readSecret } from "../../src/keys/auth/secret.ts";
import { findReceiptFaults } from "./receipt-audit.ts";

/** The methods of a Redis client that the audit needs. */
export type RedisReader = {
  scanIterator(options: { COUNT: number }): AsyncIterable<readonly string[]>;
  type(key: string): Promise<string>;
  sendCommand(words: readonly string[]): Promise<unknown>;
};

const PREFIXES = ["sk-", "mk-", "ws-"] as const;
const BODY = /(?<![0-9A-Za-z])[0-9A-Za-z]{49}(?![0-9A-Za-z])/g;
const PROVIDER_SECRET = /app-sk-[0-9A-Za-z+/=_-]{40,}/;
const SUSPECT = "(^|[^0-9A-Za-z])[0-9A-Za-z]{49}($|[^0-9A-Za-z])|app-sk-[0-9A-Za-z+/=_-]{40}";

/**
 * Checks what every test leaves behind: a consistent ledger, from which a verification can continue, a consistent log of receipts, and no secret in any row. A secret is recognised
 * by its own checksum, with its prefix or without, so none has to be recorded when it is issued.
 */
export async function auditDatabase(queries: Queries): Promise<void> {
  const [ledger] = await queries.rows<{ name: string | null }>(
    "select to_regclass('ledger_entry')::text as name",
  );
  if (!ledger?.name) return;
  const faults = await findLedgerFaults(queries);
  if (faults.length > 0) throw new Error(`a test left an inconsistent ledger: ${JSON.stringify(faults)}`);
  // Citus distributes these tables by the account, and lacks the constraints of a single server.
  const [citus] = await queries.rows<{ name: string | null }>(
    "select to_regclass('citus_table')::text as name",
  );
  if (!citus?.name) await continueVerification(queries);
  const [receipts] = await queries.rows<{ name: string | null }>(
    "select to_regclass('receipt_log')::text as name",
  );
  const receiptFaults = receipts?.name ? await findReceiptFaults(queries) : [];
  if (receiptFaults.length > 0) throw new Error(`a test left wrong receipts: ${receiptFaults.join("; ")}`);
  const tables = await queries.rows<{ name: string }>(TABLES);
  const selects = tables.map(
    ({ name }) =>
      `select '${name}' as name, t::text as text from public."${name}" t where t::text ~ '${SUSPECT}'`,
  );
  const suspects = await queries.rows<{ name: string; text: string }>(selects.join(" union all "));
  for (const { name, text } of suspects) requireNoSecret(text, `the table ${name}`);
}

/** Throws when a text contains a valid secret; `where` is where the text was found. */
export function requireNoSecret(text: string, where: string): void {
  const bodies = text.match(BODY) ?? [];
  const isSecret = (body: string) => PREFIXES.some((prefix) => readSecret(prefix + body));
  if (PROVIDER_SECRET.test(text) || bodies.some(isSecret)) throw new Error(`there is a secret in ${where}`);
}

/** Throws when a key or value of a Redis contains a secret. */
export async function auditRedis(client: RedisReader): Promise<void> {
  for await (const keys of client.scanIterator({ COUNT: 1_000 }))
    for (const key of keys)
      requireNoSecret(`${key} ${await readRedisKey(client, key)}`, `Redis, under ${key}`);
}

/** The value of a key of Redis as JSON text, whatever its type. */
export async function readRedisKey(client: RedisReader, key: string): Promise<string> {
  const type = await client.type(key);
  const read = READERS[type];
  if (!read) throw new Error(`cannot read a Redis ${type}`);
  return JSON.stringify(await client.sendCommand(read(key)));
}

const READERS: Readonly<Record<string, (key: string) => string[]>> = {
  string: (key) => ["GET", key],
  stream: (key) => ["XRANGE", key, "-", "+"],
  hash: (key) => ["HGETALL", key],
  list: (key) => ["LRANGE", key, "0", "-1"],
  set: (key) => ["SMEMBERS", key],
  zset: (key) => ["ZRANGE", key, "0", "-1"],
  none: (key) => ["GET", key],
};

const TABLES = `
  select table_name as name from information_schema.tables
  where table_schema = 'public' and table_type = 'BASE TABLE' order by table_name`;

/** Verifies the whole ledger, and then what is new since, which is nothing. */
async function continueVerification(queries: Queries): Promise<void> {
  const run = randomUUID();
  await saveSums(queries, run);
  await confirmVerified(queries, run);
  const continued = await verifyNewTransfers(queries);
  if (continued?.faults.length !== 0)
    throw new Error(`a ledger is exact, and not once it was verified: ${JSON.stringify(continued)}`);
}
