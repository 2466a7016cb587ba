import type { Queries } from "../../db/database.ts";
import { findInTurns } from "../../kernel/async/map-in-turns.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { keyName, type StateBefore } from "./judge.ts";
import { CONTROL_OPS, type StreamKey } from "./stream-data.ts";

/** The state to read: the rights of `account` on these streams and keys, as of `version`. */
export type StateQuery = {
  readonly account: Hex;
  readonly version: bigint;
  readonly streamIds: readonly Hex[];
  readonly keys: readonly StreamKey[];
};

/** The state of streams and keys, and whether the account may write to any key of any of these streams. */
export type StreamState = Omit<StateBefore, "isHeld"> & { readonly hasAnyRight: boolean };

const KEYS_PER_STATEMENT = 2_048;

/** Reads the state. Streams and keys that were not requested are reported as never written. */
export async function readState(
  queries: Queries,
  chainId: number,
  { account, version, streamIds, keys }: StateQuery,
): Promise<StreamState> {
  const at = [chainId, version.toString(), account];
  const streams = new Map<Hex, StreamRow>();
  for (const row of await queries.rows<StreamRow>(STREAMS, [...at, JSON.stringify([...new Set(streamIds)])]))
    streams.set(row.stream_id, row);
  const rows = new Map<string, KeyRow>();
  const named = new Map<string, StreamKey>();
  await findInTurns(keys, (key) => void named.set(keyName(key), key));
  const distinct = [...named];
  for (let first = 0; first < distinct.length; first += KEYS_PER_STATEMENT) {
    const chunk = distinct.slice(first, first + KEYS_PER_STATEMENT);
    const requested = chunk.map(([, { streamId, key }], n) => ({
      n,
      s: streamId,
      k: key.toString("base64"),
    }));
    for (const row of await queries.rows<KeyRow>(KEYS, [...at, JSON.stringify(requested)])) {
      const name = chunk[row.n]?.[0];
      if (name !== undefined) rows.set(name, row);
    }
  }
  const keyRow = (key: StreamKey) => rows.get(keyName(key));
  return {
    hasAnyRight: [...streams.values()].some(
      (row) => row.is_new || isAdmin(row) || isWriter(row) || row.has_key,
    ),
    versionOf: (key) => BigInt(keyRow(key)?.version ?? 0),
    isNew: (id) => streams.get(id)?.is_new ?? true,
    isAdmin: (id) => isAdmin(streams.get(id)),
    isWriter: (id) => isWriter(streams.get(id)),
    isSpecial: (key) => keyRow(key)?.special === CONTROL_OPS.SET_KEY_TO_SPECIAL,
    isKeyWriter: (key) => keyRow(key)?.writer === CONTROL_OPS.GRANT_SPECIAL_WRITER_ROLE,
  };
}

function isAdmin(row: StreamRow | undefined): boolean {
  return row?.admin === CONTROL_OPS.GRANT_ADMIN_ROLE;
}

function isWriter(row: StreamRow | undefined): boolean {
  return row?.writer === CONTROL_OPS.GRANT_WRITER_ROLE;
}

type StreamRow = {
  stream_id: Hex;
  is_new: boolean;
  admin: number | null;
  writer: number | null;
  has_key: boolean;
};
type KeyRow = { n: number; version: string; special: number | null; writer: number | null };

const STREAMS = `
  select a.stream_id, not exists (
      select 1 from kv_control c where c.chain_id = $1::bigint and c.stream_id = a.stream_id and c.version <= $2::numeric
    ) as is_new,
    (
      select op from kv_control c
      where c.chain_id = $1::bigint and c.stream_id = a.stream_id and c.family = 0 and c.account = $3::text
        and c.key_head = ''::bytea and c.version <= $2::numeric
      order by c.version desc limit 1
    ) as admin,
    (
      select op from kv_control c
      where c.chain_id = $1::bigint and c.stream_id = a.stream_id and c.family = 32 and c.account = $3::text
        and c.key_head = ''::bytea and c.version <= $2::numeric
      order by c.version desc limit 1
    ) as writer,
    exists (
      select 1 from (
        select distinct on (c.key_head, c.key) c.op from kv_control c
        where c.chain_id = $1::bigint and c.stream_id = a.stream_id and c.family = 48 and c.account = $3::text
          and c.version <= $2::numeric
        order by c.key_head, c.key, c.version desc
      ) as latest
      where latest.op = ${CONTROL_OPS.GRANT_SPECIAL_WRITER_ROLE}
    ) as has_key
  from jsonb_array_elements_text($4::text::jsonb) as a(stream_id)`;

const KEYS = `
  select a.n, coalesce((
      select e.version from kv_entry e
      where e.chain_id = $1::bigint and e.stream_id = a.s and e.key_head = substring(a.k from 1 for 512) and e.key = a.k
        and e.version <= $2::numeric
      order by e.version desc limit 1
    ), 0)::text as version,
    (
      select op from kv_control c
      where c.chain_id = $1::bigint and c.stream_id = a.s and c.family = 16 and c.account = '0x${"0".repeat(40)}'
        and c.key_head = substring(a.k from 1 for 512) and c.key = a.k and c.version <= $2::numeric
      order by c.version desc limit 1
    ) as special,
    (
      select op from kv_control c
      where c.chain_id = $1::bigint and c.stream_id = a.s and c.family = 48 and c.account = $3::text
        and c.key_head = substring(a.k from 1 for 512) and c.key = a.k and c.version <= $2::numeric
      order by c.version desc limit 1
    ) as writer
  from (
    select n, s, decode(k, 'base64') as k from jsonb_to_recordset($4::text::jsonb) as r(n int, s text, k text)
  ) as a`;
