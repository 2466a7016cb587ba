import type { Queries } from "../../db/database.ts";

/**
 * Recalls the unused part of all allotments of an account, except the allotment of that process for that key. Returns
 * the ids of the recalled allotments, including those that others had already recalled.
 */
export async function recallAllotments(
  queries: Queries,
  account: string,
  except?: { readonly keyId: string; readonly processId: string },
): Promise<readonly string[]> {
  const rows = await queries.rows<{ id: string }>(RECALL, [account, except?.keyId, except?.processId]);
  return rows.map(({ id }) => id);
}

/** As `recallAllotments`, all those of one key, in the transaction that changes the key. */
export async function recallAllotmentsOfKey(tx: Queries, keyId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(RECALL_KEY, [keyId]);
  return rows.map(({ id }) => id);
}

/** The allotments of a key that an earlier change recalled, and which their processes have not returned yet. */
export async function recalledAllotmentsOfKey(tx: Queries, keyId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(RECALLED_OF_KEY, [keyId]);
  return rows.map(({ id }) => id);
}

/** Whether one of these allotments is still recalled: its process has not returned the unused part yet. */
export async function areRecalled(queries: Queries, ids: readonly string[]): Promise<boolean> {
  return (await queries.rows(RECALLED, [JSON.stringify(ids)])).length > 0;
}

const recall = (which: string) => `
  with locked as (
    select a.id, a.account from allotment a where ${which} and a.state <> 'closed' order by a.id for no key update
  ), recalled as (
    update allotment a set state = 'recalled' from locked
    where a.id = locked.id and a.account = locked.account and a.state <> 'closed'
    returning a.id, a.account
  ), events as (
    insert into outbox (topic, subject, data)
    select 'allotment.recalled', account, jsonb_build_object('account', account)
    from (select distinct account from recalled) as u
  )
  select id::text as id from recalled`;

const RECALL = recall("a.account = $1 and (a.api_key_id = $2::uuid and a.process_id = $3::uuid) is not true");

const RECALL_KEY = recall("a.api_key_id = $1::uuid");

const RECALLED_OF_KEY = `
  select id::text as id from allotment where api_key_id = $1::uuid and state = 'recalled'`;

const RECALLED = `
  select 1 from allotment
  where id = any(array(select value::uuid from jsonb_array_elements_text($1::jsonb))) and state = 'recalled' limit 1`;
