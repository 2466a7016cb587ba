import { hash, randomBytes } from "node:crypto";
import { bytesToHex } from "@noble/hashes/utils.js";
import { decodeCommitments } from "./draft.ts";
import {
  commitment,
  HASH_BYTES,
  RECEIPT_VERSION,
  type Receipt,
  type ReceiptEvidence,
} from "./format/receipt.ts";

/** A settled request with its draft and its evidence, as the database returns it: numbers and times are text. */
export type SettledRow = {
  readonly request_id: string;
  readonly endpoint: string | null;
  readonly model_answered: string | null;
  readonly commitments: Uint8Array | null;
  readonly account: string;
  readonly api_key_id: string | null;
  readonly model: string;
  readonly provider: string;
  readonly status: Receipt["outcome"];
  readonly input_tokens: string | null;
  readonly output_tokens: string | null;
  readonly cached_tokens: string;
  readonly cache_write_tokens: string;
  readonly cache_write_1h_tokens: string;
  readonly units: string | null;
  readonly usage_estimated: boolean;
  readonly input_price: string;
  readonly output_price: string;
  readonly total_cost: string;
  readonly error_code: string | null;
  readonly started_at: string;
  readonly finished_at: string;
  readonly verdict: string | null;
  readonly text_form: string | null;
  readonly request_bound: boolean | null;
  readonly response_bound: boolean | null;
  readonly signer: string | null;
  readonly signed_text: string | null;
};

/** The receipt of a settled request, after the leaf with this hash. */
export function receiptOf(row: SettledRow, previousLeaf: Uint8Array | undefined): Receipt {
  const commitments = decodeCommitments(row.commitments);
  const salt = commitments?.salt ?? randomBytes(HASH_BYTES);
  return {
    version: RECEIPT_VERSION,
    request_id: row.request_id,
    account: row.account,
    api_key_id: row.api_key_id,
    endpoint: row.endpoint,
    model: row.model,
    model_answered: row.model_answered,
    provider: row.provider,
    salt: bytesToHex(salt),
    hashes: {
      received: commitments?.at("received") ?? null,
      forwarded: commitments?.at("forwarded") ?? null,
      answered: commitments?.at("answered") ?? null,
      returned: commitments?.at("returned") ?? null,
    },
    usage: {
      input_tokens: integer(row.input_tokens),
      output_tokens: integer(row.output_tokens),
      cached_tokens: Number(row.cached_tokens),
      cache_write_tokens: Number(row.cache_write_tokens),
      cache_write_1h_tokens: Number(row.cache_write_1h_tokens),
      units: integer(row.units),
      estimated: row.usage_estimated,
    },
    prices: { input: row.input_price, output: row.output_price },
    charge: row.total_cost,
    outcome: row.status,
    error_code: row.error_code,
    evidence: evidenceOf(row, salt),
    started_at: row.started_at,
    finished_at: row.finished_at,
    previous_leaf: previousLeaf ? bytesToHex(previousLeaf) : null,
  };
}

function evidenceOf(row: SettledRow, salt: Uint8Array): ReceiptEvidence | null {
  if (row.verdict === null) return null;
  return {
    verdict: row.verdict,
    form: row.text_form,
    request_bound: row.request_bound,
    response_bound: row.response_bound,
    signer: row.signer,
    text: row.signed_text === null ? null : commitment(salt, hash("sha256", row.signed_text, "buffer")),
  };
}

function integer(text: string | null): number | null {
  return text === null ? null : Number(text);
}
