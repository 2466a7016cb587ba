import { bytesToHex } from "@noble/hashes/utils.js";
import { RECEIPT_VERSION, type Receipt, type ReceiptEvidence } from "./format/receipt.ts";
import { type StoredHashes, saltHashes } from "./salted-hashes.ts";

/** A settled request with its draft and its evidence, as the database returns it: numbers and times are text. */
export type SettledRow = StoredHashes & {
  readonly request_id: string;
  readonly endpoint: string | null;
  readonly model_answered: string | null;
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

/**
 * The receipt of a settled request, after the leaf with this hash. Its members are in the order of canonical JSON, which
 * is rendered several times faster then.
 */
export function receiptOf(row: SettledRow, previousLeaf: Uint8Array | undefined): Receipt {
  const { salt, hashes, ofText } = saltHashes(row);
  return {
    account: row.account,
    api_key_id: row.api_key_id,
    charge: row.total_cost,
    endpoint: row.endpoint,
    error_code: row.error_code,
    evidence: evidenceOf(row, ofText),
    finished_at: row.finished_at,
    hashes,
    model: row.model,
    model_answered: row.model_answered,
    outcome: row.status,
    previous_leaf: previousLeaf ? bytesToHex(previousLeaf) : null,
    prices: { input: row.input_price, output: row.output_price },
    provider: row.provider,
    request_id: row.request_id,
    salt,
    started_at: row.started_at,
    usage: {
      cache_write_1h_tokens: Number(row.cache_write_1h_tokens),
      cache_write_tokens: Number(row.cache_write_tokens),
      cached_tokens: Number(row.cached_tokens),
      estimated: row.usage_estimated,
      input_tokens: integer(row.input_tokens),
      output_tokens: integer(row.output_tokens),
      units: integer(row.units),
    },
    version: RECEIPT_VERSION,
  };
}

function evidenceOf(row: SettledRow, ofText: (text: string) => string): ReceiptEvidence | null {
  if (row.verdict === null) return null;
  return {
    form: row.text_form,
    request_bound: row.request_bound,
    response_bound: row.response_bound,
    signer: row.signer,
    text: row.signed_text === null ? null : ofText(row.signed_text),
    verdict: row.verdict,
  };
}

function integer(text: string | null): number | null {
  return text === null ? null : Number(text);
}
