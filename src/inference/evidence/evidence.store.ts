import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Evidence, Verdict } from "./tee-signature.ts";

/** Stores the evidence of a request. A repeated check, such as of a job that is polled twice, replaces the evidence. */
export async function storeEvidence(queries: Queries, evidence: Omit<Evidence, "checkedAt">): Promise<void> {
  await queries.rows(STORE, [
    evidence.requestId,
    evidence.provider,
    evidence.answerId ?? null,
    evidence.verdict,
    evidence.text ?? null,
    evidence.signature ?? null,
    evidence.signer ?? null,
    evidence.expectedSigner ?? null,
  ]);
}

/** The evidence of those of these requests that belong to this account and were checked. */
export async function readEvidence(
  queries: Queries,
  account: string,
  requestIds: readonly string[],
): Promise<readonly Evidence[]> {
  const rows = await queries.rows<EvidenceRow>(READ, [account, JSON.stringify(requestIds)]);
  return rows.map((row) => ({
    requestId: row.request_id,
    provider: row.provider,
    answerId: row.answer_id ?? undefined,
    verdict: row.verdict,
    text: row.signed_text ?? undefined,
    signature: row.signature ?? undefined,
    signer: row.signer ?? undefined,
    expectedSigner: row.expected_signer ?? undefined,
    checkedAt: new Date(row.checked_at),
  }));
}

type EvidenceRow = {
  readonly request_id: string;
  readonly provider: Hex;
  readonly answer_id: string | null;
  readonly verdict: Verdict;
  readonly signed_text: string | null;
  readonly signature: Hex | null;
  readonly signer: Hex | null;
  readonly expected_signer: Hex | null;
  readonly checked_at: string;
};

const STORE = `
  insert into request_evidence
    (request_id, provider, answer_id, verdict, signed_text, signature, signer, expected_signer)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text)
  on conflict (request_id) do update set
    provider = excluded.provider, answer_id = excluded.answer_id, verdict = excluded.verdict,
    signed_text = excluded.signed_text, signature = excluded.signature, signer = excluded.signer,
    expected_signer = excluded.expected_signer, checked_at = now()`;

const READ = `
  select e.request_id, e.provider, e.answer_id, e.verdict, e.signed_text, e.signature, e.signer,
    e.expected_signer, e.checked_at
  from request_evidence e join inference_request r on r.id = e.request_id
  where r.account = $1::text
    and e.request_id in (select jsonb_array_elements_text($2::jsonb))`;
