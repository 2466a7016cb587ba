import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readCompressed, unpackFolder } from "./archive.ts";
import type { Filled } from "./questions.ts";

/** What is committed of a release besides its data: what it was filled with, and its answers. */
type Expected = {
  readonly filled: Filled;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly migrations: readonly string[];
  readonly ledger: LedgerTotals;
  /** When the release stopped, ISO 8601. */
  readonly stoppedAt: string;
};

/** The ledger as it was: entries up to the last one, which never change. Amounts are neuron, by book. */
export type LedgerTotals = { readonly lastId: string; readonly books: Readonly<Record<string, string>> };

/** A stored release. */
export type Fixture = {
  readonly name: string;
  readonly expected: Expected;
  /** Unpacks its data folder into an existing folder. */
  unpack(folder: string): Promise<void>;
  /** Its database as SQL, without a schema's owner. */
  sql(): Promise<string>;
};

/** A folder for each release. */
export const FIXTURES = "tests/fixtures/releases";
/** The files of a release. */
export const FILES = { data: "data.tar.br", sql: "database.sql.br", expected: "expected.json" } as const;

/** The sums of the ledger up to an entry, or all of it. */
export const LEDGER_TOTALS = `
  select book, sum(amount)::text as neuron, max(id)::text as last from ledger_entry
  where id <= coalesce($1::bigint, id) group by book order by book`;

/** The names of all stored releases. */
export function listFixtures(): readonly string[] {
  return readdirSync(FIXTURES).sort();
}

/** Reads a stored release. */
export async function readFixture(name: string): Promise<Fixture> {
  const file = (of: keyof typeof FILES) => join(FIXTURES, name, FILES[of]);
  return {
    name,
    expected: JSON.parse(await readFile(file("expected"), "utf8")) as Expected,
    unpack: async (folder) => unpackFolder(await readCompressed(file("data")), folder),
    sql: async () => (await readCompressed(file("sql"))).toString(),
  };
}
