import { hash, randomFillSync } from "node:crypto";
import { HASH_BYTES } from "./format/receipt.ts";

/** What is known of a receipt when its request is settled, and is not in the request's row. Stored with the settlement. */
export type ReceiptDraft = {
  readonly endpoint: string;
  readonly modelAnswered: string;
  readonly salt: Uint8Array;
  /** SHA-256 of the bodies; undefined where there is none. */
  readonly received: Uint8Array | undefined;
  readonly forwarded: Uint8Array | undefined;
  readonly answered: Uint8Array | undefined;
  /** SHA-256 of what the client will be sent if it is charged the whole cost; undefined if that is not known yet. */
  readonly returned: Uint8Array | undefined;
  /** Whether the hash of what the client is sent may follow (`ReturnedHashes`). */
  readonly awaitsReturned: boolean;
};

/** The places of bytes in a draft, in their order there, after the salt. */
export const PLACES = ["received", "forwarded", "answered", "returned"] as const;

/** A draft whose client may be sent something else than was expected. */
export function withoutReturned(draft: ReceiptDraft): ReceiptDraft {
  return { ...draft, returned: undefined };
}

/** The bytes that stand for a missing hash. */
export const NONE: Uint8Array = new Uint8Array(HASH_BYTES);

/** How long a receipt waits for the hash of what the client was sent: the process may have died. */
const RETURNED_SECONDS = 10;
/** How long it waits for a correction where that hash was known before. */
const CORRECTED_SECONDS = 2;

/** A random salt. */
export function newSalt(): Uint8Array {
  if (used === SALTS.length) {
    randomFillSync(SALTS);
    used = 0;
  }
  used += HASH_BYTES;
  return Uint8Array.from(SALTS.subarray(used - HASH_BYTES, used));
}

/** Bytes are generated for many salts at once: for one, it takes as long as to hash 10 KB. */
const SALTS = new Uint8Array(64 * HASH_BYTES);
let used = SALTS.length;

/** A draft as fields of a row of `DRAFT_TYPES`. */
export function draftColumns(draft: ReceiptDraft | undefined) {
  if (!draft) return undefined;
  const { salt, received, forwarded, answered, returned } = draft;
  const known = [received, forwarded, answered].map((digest) => (digest ? commit(salt, digest) : NONE));
  return {
    endpoint: draft.endpoint,
    model_answered: draft.modelAnswered,
    commitments: `\\x${Buffer.concat([salt, ...known]).toString("hex")}`,
    ...(returned && { returned: `\\x${commit(salt, returned).toString("hex")}` }),
    awaits_returned: draft.awaitsReturned,
  };
}

/** SQL for the fields of `draftColumns`; they are null for a request without a draft. */
export const DRAFT_TYPES =
  "endpoint text, model_answered text, commitments bytea, returned bytea, awaits_returned boolean";
export const DRAFT_COLUMNS = `a.endpoint, a.model_answered, a.commitments, a.awaits_returned,
      a.returned, a.input_cost + a.output_cost as full_cost`;

/**
 * SQL that stores the drafts of the requests that a statement has `ended`. What the client will be sent states the bill,
 * so its hash is only stored for one that is charged its full cost.
 */
export const INSERT_DRAFTS = `
    insert into receipt_draft (request_id, endpoint, model_answered, commitments, ready_at)
    select id, endpoint, model_answered, case when is_complete then commitments || returned else commitments end,
      case when awaits_returned then now() + case when is_complete then interval '${CORRECTED_SECONDS} seconds'
        else interval '${RETURNED_SECONDS} seconds' end else now() end
    from ended, lateral (select returned is not null and total_cost = full_cost as is_complete) as known
    on conflict (request_id) do nothing`;

/** Reads `commitments`: the salt, and the hexadecimal commitment of each place. Undefined if there is no salt. */
export function decodeCommitments(
  bytes: Uint8Array | null,
): { readonly salt: Uint8Array; readonly at: (place: (typeof PLACES)[number]) => string | null } | undefined {
  if (!bytes || bytes.length < HASH_BYTES) return undefined;
  return {
    salt: bytes.subarray(0, HASH_BYTES),
    at: (place) => {
      const start = HASH_BYTES * (1 + PLACES.indexOf(place));
      const part = bytes.subarray(start, start + HASH_BYTES);
      return part.every((byte) => byte === 0) ? null : Buffer.from(part).toString("hex");
    },
  };
}

/** `commitment` by Node's own SHA-256, a third of the time. */
export function commit(salt: Uint8Array, digest: Uint8Array): Buffer {
  return hash("sha256", Buffer.concat([salt, digest]), "buffer");
}
