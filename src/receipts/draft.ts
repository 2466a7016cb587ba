import type { Digest } from "../kernel/hash-in-parts.ts";
import { HASH_BYTES, type ReceiptHashes } from "./format/receipt.ts";

/** What is known of a receipt when its request is settled, and is not in the request's row. Stored with the settlement. */
export type ReceiptDraft = {
  readonly endpoint: string;
  readonly modelAnswered: string;
  /** SHA-256 of the bodies; undefined where there is none. */
  readonly received: Digest | undefined;
  readonly forwarded: Digest | undefined;
  readonly answered: Digest | undefined;
  /** SHA-256 of what the client will be sent if it is charged the whole cost; undefined if that is not known yet. */
  readonly returned: Digest | undefined;
  /** Whether the hash of what the client is sent may follow (`ReturnedHashes`). */
  readonly awaitsReturned: boolean;
};

/** The hashes in a draft, in their order there; zeros stand for a missing one. */
const PLACES: readonly (keyof ReceiptHashes)[] = ["received", "forwarded", "answered", "returned"];

/** A draft whose client may be sent something else than was expected. */
export function withoutReturned(draft: ReceiptDraft): ReceiptDraft {
  return { ...draft, returned: undefined };
}

/** Stands for a missing hash. */
export const NONE: Digest = "00".repeat(HASH_BYTES);

/** How long a receipt waits for the hash of what the client was sent: the process may have died. */
const RETURNED_SECONDS = 10;
/** How long it waits for a correction where that hash was known before. */
const CORRECTED_SECONDS = 2;

/**
 * The hashes of a draft that are known when its request is settled, as the text of a `bytea`. They are salted when the
 * receipt is written, off the way of the answer: salted here, they took a thirtieth of the processor time of a short
 * request.
 */
export function digestsOf({ received = NONE, forwarded = NONE, answered = NONE }: ReceiptDraft): string {
  return `\\x${received}${forwarded}${answered}`;
}

/** The hash of what the client will be sent, likewise; undefined if it is not known. */
export function returnedOf({ returned }: ReceiptDraft): string | undefined {
  return returned && `\\x${returned}`;
}

/**
 * SQL for the fields of a draft in a row; they are null for a request without one. `model_answered` is left out if it is
 * the `model` of the row.
 */
export const DRAFT_TYPES =
  "endpoint text, model_answered text, digests bytea, returned bytea, awaits_returned boolean";
export const DRAFT_COLUMNS = `a.endpoint,
      case when a.digests is not null then coalesce(a.model_answered, a.model) end as model_answered, a.digests, a.awaits_returned,
      a.returned, a.input_cost + a.output_cost as full_cost`;

/**
 * SQL that stores the drafts of the requests that a statement has `ended`. What the client will be sent states the bill,
 * so its hash is only stored for one that is charged its full cost.
 */
export const INSERT_DRAFTS = `
    insert into receipt_draft (request_id, endpoint, model_answered, digests, ready_at)
    select id, endpoint, model_answered, case when is_complete then digests || returned else digests end,
      case when awaits_returned then now() + case when is_complete then interval '${CORRECTED_SECONDS} seconds'
        else interval '${RETURNED_SECONDS} seconds' end else now() end
    from ended, lateral (select returned is not null and total_cost = full_cost as is_complete) as known
    on conflict (request_id) do nothing`;

/** Reads the hashes of a stored draft; undefined where there is none. */
export function digestAt(digests: Uint8Array | null, place: keyof ReceiptHashes): Uint8Array | undefined {
  const start = HASH_BYTES * PLACES.indexOf(place);
  const digest = digests?.subarray(start, start + HASH_BYTES);
  return digest?.some((byte) => byte !== 0) ? digest : undefined;
}
