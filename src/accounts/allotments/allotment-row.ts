/**
 * An allotment as the database has it. `open`: its process may admit requests on what is unused. `recalled`: the unused
 * part is needed elsewhere, or the key was changed. `closed`: nothing is unused; the amount covers requests in progress.
 */
export type AllotmentRow = {
  readonly id: string;
  readonly account: string;
  readonly keyId: string;
  readonly amount: bigint;
  readonly state: "open" | "recalled" | "closed";
};

/** A row of `allotment` as a statement returns it: see `columnsOf`. */
export type StoredAllotment = {
  readonly id: string;
  readonly account: string;
  readonly api_key_id: string;
  readonly amount: string;
  readonly state: AllotmentRow["state"];
};

export function toAllotment({ id, account, api_key_id, amount, state }: StoredAllotment): AllotmentRow {
  return { id, account, keyId: api_key_id, amount: BigInt(amount), state };
}

/** SQL for an allotment's columns, in the form of `StoredAllotment`. */
export const columnsOf = (
  row: string,
) => `${row}.id::text as id, ${row}.account, ${row}.api_key_id::text as api_key_id,
    ${row}.amount::text as amount, ${row}.state`;
