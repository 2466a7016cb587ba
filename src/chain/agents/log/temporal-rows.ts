import type { Hex } from "../../../kernel/text/hex.ts";

/** A position in the chain, as stored in rows. */
export type Place = { readonly block_number: string; readonly log_index: number };
/** The log that a row was made from. */
export type Origin = Place & { readonly block_hash: Hex; readonly transaction_hash: Hex };
/** A row that is valid until its end; null means it has not ended. */
export type TemporalRow = Origin & { ended_block: string | null; ended_log: number | null };

/** A page's changes to a table: ends of rows stored before the page, and new rows. Ends are applied first. */
export type TableChanges<Row, End> = { readonly ends: readonly End[]; readonly rows: readonly Row[] };

/** Why an authorisation ended. */
export type AuthorizationEnd = "revoked" | "cleared" | "transferred";
export type AuthorizationRow = TemporalRow & {
  token_id: string;
  authorized_by: Hex;
  user_address: Hex;
  end_reason: AuthorizationEnd | null;
};
/** The end of authorisations that were stored before the page. */
export type AuthorizationEnds = Place & {
  readonly token_id: string;
  /** Null ends the authorisations of every user. */
  readonly user_address: Hex | null;
  readonly reason: AuthorizationEnd;
};

/** The members of a row that has not ended. */
export function openRow(origin: Origin): TemporalRow {
  return { ...origin, ended_block: null, ended_log: null };
}

/** Rows of which one per key is valid at a time: each ends where the next begins. */
export class VersionedRows<Row extends TemporalRow> {
  readonly #rows: Row[] = [];
  readonly #newest = new Map<string, Row>();
  /** By key, the first new row: it ends the row stored before the page. */
  readonly #firsts = new Map<string, Row>();

  /** Adds a row, which ends the previous row of `key`. */
  put(key: string, row: Row): void {
    const before = this.#newest.get(key);
    if (before) end(before, row);
    else this.#firsts.set(key, row);
    this.#newest.set(key, row);
    this.#rows.push(row);
  }

  /** The new rows, and the ends of rows stored before the page, which are found by the columns that `keyOf` gives. */
  changes<Key extends object>(keyOf: (row: Row) => Key): TableChanges<Row, Place & Key> {
    const ends = [...this.#firsts.values()].map((row) => ({ ...placeOf(row), ...keyOf(row) }));
    return { ends, rows: this.#rows };
  }
}

/** Authorisations: of each token, one per user is valid at a time, until it ends alone or with all others. */
export class AuthorizationRows {
  readonly #rows: AuthorizationRow[] = [];
  readonly #open = new Map<string, Map<Hex, AuthorizationRow>>();
  readonly #ends = new Map<string, AuthorizationEnds>();

  /** Begins a user's authorisation, unless one that began in this page has not ended. */
  begin(token_id: string, by: Hex, user: Hex, origin: Origin): void {
    const open = this.#open.get(token_id) ?? new Map<Hex, AuthorizationRow>();
    this.#open.set(token_id, open);
    if (open.has(user)) return;
    const row = {
      ...openRow(origin),
      token_id,
      authorized_by: by,
      user_address: user,
      end_reason: null,
    };
    open.set(user, row);
    this.#rows.push(row);
  }

  /** Ends the authorisation of a user, or of every user with null. */
  end(token_id: string, user: Hex | null, reason: AuthorizationEnd, place: Place): void {
    const open = this.#open.get(token_id);
    for (const [holder, row] of open ?? [])
      if (user === null || user === holder) {
        end(row, place);
        row.end_reason = reason;
        open?.delete(holder);
      }
    // For rows stored before the page, the first end applies.
    const key = `${token_id} ${user ?? ""}`;
    if (!this.#ends.has(key))
      this.#ends.set(key, { ...placeOf(place), token_id, user_address: user, reason });
  }

  /** The new rows, and the ends of rows stored before the page. */
  changes(): TableChanges<AuthorizationRow, AuthorizationEnds> {
    return { ends: [...this.#ends.values()], rows: this.#rows };
  }
}

function end(row: TemporalRow, at: Place): void {
  row.ended_block = at.block_number;
  row.ended_log = at.log_index;
}

function placeOf({ block_number, log_index }: Place): Place {
  return { block_number, log_index };
}
