import type { Queries } from "../../../db/database.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import { type Mark, readMark } from "../../watcher/log-watcher.store.ts";
import type { SealedKey } from "../sealed-keys/sealed-key.ts";
import { insertSealedKeys, revertSealedKeys } from "../sealed-keys/sealed-keys.store.ts";
import { insertTokenEvents, revertTokenEvents } from "../tokens/token-events.store.ts";
import type { ContractKey } from "../tokens/token-rows.ts";
import type { AgentChanges } from "./agent-changes.ts";
import type { IntelligentData } from "./agent-event.ts";
import type { Place, TableChanges } from "./temporal-rows.ts";

/** An added or removed row, with the fields that its event needs. */
export type TransferChange = Place & {
  readonly token_id: string;
  readonly sender: Hex;
  readonly receiver: Hex;
  readonly with_key: boolean;
  readonly transaction_hash: Hex;
};
export type AppliedChanges = {
  readonly transfers: readonly TransferChange[];
  readonly keys: readonly SealedKey[];
};

/** The current data of these tokens, by token id. */
export async function readDatas(
  tx: Queries,
  { chainId, contract }: ContractKey,
  tokenIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, readonly IntelligentData[]>> {
  if (tokenIds.length === 0) return new Map();
  const ids = JSON.stringify(tokenIds.map(String));
  const rows = await tx.rows<{ token_id: string; datas: string }>(READ_DATAS, [chainId, contract, ids]);
  return new Map(rows.map(({ token_id, datas }) => [BigInt(token_id), JSON.parse(datas)]));
}

/** Writes a page of changes, and returns those that were not stored yet. */
export async function writeChanges(
  tx: Queries,
  key: ContractKey,
  changes: AgentChanges,
): Promise<AppliedChanges> {
  const write = <Row>(sql: string, rows: readonly object[]) =>
    rows.length === 0
      ? Promise.resolve([])
      : tx.rows<Row>(sql, [key.chainId, key.contract, JSON.stringify(rows)]);
  const endAndInsert = async <Row>(
    sql: { readonly end: string; readonly insert: string },
    of: TableChanges<object, object>,
  ) => {
    await write(sql.end, of.ends);
    return write<Row>(sql.insert, of.rows);
  };
  const transfers = await endAndInsert<TransferChange>(TRANSFERS, changes.transfers);
  await endAndInsert(DATAS, changes.datas);
  await endAndInsert(CREATORS, changes.creators);
  await endAndInsert(DELEGATIONS, changes.delegations);
  await endAndInsert(AUTHORIZATIONS, changes.authorizations);
  await write(INSERT_CLONES, changes.clones);
  await insertTokenEvents(tx, key, changes.events);
  return { transfers, keys: await insertSealedKeys(tx, key.chainId, changes.keys) };
}

/** Reverts the rows of block `from` and above, reopens rows that ended there, and returns the reverted rows. */
export async function revertChanges(tx: Queries, key: ContractKey, from: bigint): Promise<AppliedChanges> {
  const parameters = [key.chainId, key.contract, from.toString()];
  const transfers = await tx.rows<TransferChange>(DELETE_TRANSFERS, parameters);
  for (const table of ["agent_data", "agent_creator", "agent_delegation", "agent_authorization"] as const)
    await tx.rows(deleteFrom(table), parameters);
  await tx.rows(deleteFrom("agent_clone"), parameters);
  for (const table of ["agent_transfer", "agent_data", "agent_creator", "agent_delegation"] as const)
    await tx.rows(reopen(table), parameters);
  await tx.rows(reopen("agent_authorization", ", end_reason = null"), parameters);
  await revertTokenEvents(tx, key, from);
  return { transfers, keys: await revertSealedKeys(tx, key, from) };
}

/** The newest block at or below `upTo` with a row, undefined if there is none. */
export function newestChangedBlock(
  queries: Queries,
  { chainId, contract }: ContractKey,
  upTo: bigint,
): Promise<Mark | undefined> {
  return readMark(queries, NEWEST_BLOCK, [chainId, contract, upTo.toString()]);
}

const READ_DATAS = `
  select token_id::text as token_id, datas::text as datas from agent_data
  where chain_id = $1::bigint and contract = $2 and ended_block is null
    and token_id in (select jsonb_array_elements_text($3::text::jsonb)::numeric)`;

const ORIGIN = "block_number, log_index, block_hash, transaction_hash";
const ORIGIN_TYPES = "block_number bigint, log_index int, block_hash text, transaction_hash text";
const END_TYPES = "ended_block bigint, ended_log int";

type Columns = Readonly<Record<string, string>>;

function insert(table: string, columns: Columns, temporal = true): string {
  const names = Object.keys(columns).join(", ");
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  const more = temporal ? ", ended_block, ended_log" : "";
  return `
    insert into ${table} (chain_id, contract, ${ORIGIN}, ${names}${more})
    select $1::bigint, $2, ${ORIGIN}, ${names}${more}
    from jsonb_to_recordset($3::text::jsonb)
      as r(${ORIGIN_TYPES}, ${types.join(", ")}${temporal ? `, ${END_TYPES}` : ""})
    on conflict do nothing`;
}

/** Ends the current rows of a token or a user. */
function endBy(table: string, column: "token_id" | "user_address"): string {
  return `
    update ${table} set ended_block = e.block_number, ended_log = e.log_index
    from jsonb_to_recordset($3::text::jsonb)
      as e(${column} ${column === "token_id" ? "numeric" : "text"}, block_number bigint, log_index int)
    where ${table}.chain_id = $1::bigint and ${table}.contract = $2 and ${table}.ended_block is null
      and ${table}.${column} = e.${column}
      and (${table}.block_number, ${table}.log_index) < (e.block_number, e.log_index)`;
}

const TRANSFER_CHANGE = `returning block_number::text as block_number, log_index, token_id::text as token_id, sender,
  receiver, with_key, transaction_hash`;
const TRANSFERS = {
  end: endBy("agent_transfer", "token_id"),
  insert: `${insert("agent_transfer", { token_id: "numeric", sender: "text", receiver: "text", with_key: "boolean" })}
    ${TRANSFER_CHANGE}`,
};
const DATAS = {
  end: endBy("agent_data", "token_id"),
  insert: insert("agent_data", { token_id: "numeric", datas: "jsonb" }),
};
const CREATORS = {
  end: endBy("agent_creator", "token_id"),
  insert: insert("agent_creator", { token_id: "numeric", creator: "text" }),
};
const DELEGATIONS = {
  end: endBy("agent_delegation", "user_address"),
  insert: insert("agent_delegation", { user_address: "text", assistant: "text" }),
};
const AUTHORIZATIONS = {
  end: `
    update agent_authorization as a
    set ended_block = e.block_number, ended_log = e.log_index, end_reason = e.reason
    from (
      select distinct on (a.token_id, a.user_address) a.block_number as own_block, a.log_index as own_log,
        e.block_number, e.log_index, e.reason
      from jsonb_to_recordset($3::text::jsonb)
        as e(token_id numeric, user_address text, reason text, block_number bigint, log_index int)
      join agent_authorization a on a.chain_id = $1::bigint and a.contract = $2 and a.ended_block is null
        and a.token_id = e.token_id and (e.user_address is null or e.user_address = a.user_address)
        and (a.block_number, a.log_index) < (e.block_number, e.log_index)
      order by a.token_id, a.user_address, e.block_number, e.log_index
    ) as e
    where a.chain_id = $1::bigint and a.block_number = e.own_block and a.log_index = e.own_log`,
  insert: insert("agent_authorization", {
    token_id: "numeric",
    authorized_by: "text",
    user_address: "text",
    end_reason: "text",
  }),
};
const INSERT_CLONES = insert(
  "agent_clone",
  { token_id: "numeric", new_token_id: "numeric", sender: "text", receiver: "text" },
  false,
);

const FROM = "chain_id = $1::bigint and contract = $2 and block_number >= $3::bigint";
const DELETE_TRANSFERS = `delete from agent_transfer where ${FROM} ${TRANSFER_CHANGE}`;

type HistoryTable = `agent_${"transfer" | "data" | "creator" | "delegation" | "authorization" | "clone"}`;

// `agent_event` has no rows of creators and delegations, and none of what was indexed before it was introduced.
const NEWEST_BLOCK = `
  select number::text as number, hash from (${[
    newestIn("agent_transfer"),
    newestIn("agent_data"),
    newestIn("agent_creator"),
    newestIn("agent_delegation"),
    newestIn("agent_authorization"),
    newestIn("agent_clone"),
    newestIn("agent_event", "and removed_at is null"),
  ].join(" union all ")}) as newest order by newest.number desc limit 1`;

function newestIn(table: HistoryTable | "agent_event", more = ""): string {
  return `(
    select block_number as number, block_hash as hash from ${table}
    where chain_id = $1::bigint and contract = $2 and block_number <= $3::bigint ${more}
    order by block_number desc limit 1
  )`;
}

function deleteFrom(table: HistoryTable): string {
  return `delete from ${table} where ${FROM}`;
}

function reopen(table: HistoryTable, more = ""): string {
  return `
    update ${table} set ended_block = null, ended_log = null${more}
    where chain_id = $1::bigint and contract = $2 and ended_block >= $3::bigint`;
}
