import type { Queries } from "../../src/db/database.ts";
import { canonicalJson } from "../../src/receipts/format/canonical-json.ts";
import { appendLeaf, rootOfEdge } from "../../src/receipts/format/merkle-log.ts";
import { type Receipt, receiptBytes, receiptLeafHash } from "../../src/receipts/format/receipt.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/**
 * What is wrong with the log of receipts: it is computed again from the receipts, each must state what its request was
 * charged, and no request may have a draft and a receipt.
 */
export async function findReceiptFaults(queries: Queries): Promise<readonly string[]> {
  type Log = { size: string; edge: Uint8Array; last_leaf: Uint8Array | null };
  type Row = {
    leaf_index: string;
    request_id: string;
    body: string;
    nodes: Uint8Array;
    charge: string | null;
  };
  // In one statement: the product may be writing receipts.
  const read = await queries.rows<Log & (Row | { leaf_index: null })>(LOG_AND_RECEIPTS);
  const log = read[0];
  const rows = read.filter((row): row is Log & Row => row.leaf_index !== null);
  const faults: string[] = [];
  const edge: Uint8Array[] = [];
  let previous: string | null = null;
  for (const [n, row] of rows.entries()) {
    const receipt = JSON.parse(row.body) as Receipt;
    const leaf = receiptLeafHash(receiptBytes(receipt));
    const nodes = appendLeaf(n, edge, leaf);
    const is = {
      "its index": row.leaf_index === `${n}`,
      "its form": canonicalJson(receipt) === row.body,
      "the leaf before it": receipt.previous_leaf === previous,
      "its request": receipt.request_id === row.request_id,
      "its charge": row.charge === null || row.charge === receipt.charge,
      "its nodes": hex(row.nodes) === nodes.map(hex).join(""),
    };
    for (const [what, isRight] of Object.entries(is))
      if (!isRight) faults.push(`receipt ${n} of ${row.request_id}: ${what} is wrong`);
    previous = hex(leaf);
  }
  const isWhole =
    log?.size === `${rows.length}` &&
    hex(log.edge) === edge.map(hex).join("") &&
    (log.last_leaf ? hex(log.last_leaf) : null) === previous;
  if (!isWhole) faults.push(`the log of ${log?.size} receipts is not that of its ${rows.length} leaves`);
  for (const { id } of await queries.rows<{ id: string }>(TWICE))
    faults.push(`${id} is to have two receipts`);
  return faults;
}

/** The requests that were settled and have neither a receipt nor a draft of one. */
export async function findUnreceipted(queries: Queries): Promise<readonly string[]> {
  return (await queries.rows<{ id: string }>(UNRECEIPTED)).map(({ id }) => id);
}

/** The root of the first `size` receipts, computed from them. */
export async function rootOf(queries: Queries, size: number): Promise<Uint8Array> {
  const rows = await queries.rows<{ body: string }>("select body from receipt order by leaf_index limit $1", [
    size,
  ]);
  const edge: Uint8Array[] = [];
  for (const [n, { body }] of rows.entries())
    appendLeaf(n, edge, receiptLeafHash(receiptBytes(JSON.parse(body) as Receipt)));
  return rootOfEdge(edge);
}

const LOG_AND_RECEIPTS = `
  select l.size::text as size, l.edge, l.last_leaf,
    x.leaf_index::text as leaf_index, x.request_id, x.body, x.nodes, r.total_cost::text as charge
  from receipt_log l left join receipt x on true left join inference_request r on r.id = x.request_id
  order by x.leaf_index`;

const TWICE = "select d.request_id as id from receipt_draft d join receipt x on x.request_id = d.request_id";

/** A request of a process that seemed dead is not settled: it may still be. */
const UNRECEIPTED = `
  select r.id from inference_request r
  where r.status <> 'running' and not (r.error_code is not distinct from 'expired' and r.allotment_id is not null)
    and not exists (select 1 from receipt x where x.request_id = r.id)
    and not exists (select 1 from receipt_draft d where d.request_id = r.id)`;
