import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { TextForm } from "./signed-text.ts";
import type { Evidence, Verdict } from "./tee-signature.ts";

/** Stores the evidence of a request. A repeated check, such as of a job that is polled twice, replaces the evidence. */
export async function storeEvidence(
  queries: Queries,
  account: string,
  evidence: Omit<Evidence, "checkedAt">,
): Promise<void> {
  await queries.rows(STORE, [
    evidence.requestId,
    evidence.provider,
    evidence.answerId ?? null,
    evidence.verdict,
    evidence.text ?? null,
    evidence.signature ?? null,
    evidence.signer ?? null,
    evidence.expectedSigner ?? null,
    evidence.form ?? null,
    evidence.requestBound ?? null,
    evidence.responseBound ?? null,
    evidence.requestHash ?? null,
    evidence.responseHash ?? null,
    account,
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
    form: row.text_form ?? undefined,
    requestBound: row.request_bound ?? undefined,
    responseBound: row.response_bound ?? undefined,
    requestHash: row.request_hash ?? undefined,
    responseHash: row.response_hash ?? undefined,
    checkedAt: new Date(row.checked_at),
  }));
}

/**
 * For each of these providers with evidence of the last `seconds`: whether the newest is bound to the answer. Evidence
 * of versions that compared only the signer counts as unbound.
 */
export async function readNewestVerdicts(
  queries: Queries,
  providers: readonly Hex[],
  seconds: number,
): Promise<readonly (readonly [Hex, boolean])[]> {
  const rows = await queries.rows<{ provider: Hex; is_bound: boolean }>(READ_NEWEST, [
    JSON.stringify(providers),
    seconds,
  ]);
  return rows.map((row) => [row.provider, row.is_bound]);
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
  readonly text_form: TextForm | null;
  readonly request_bound: boolean | null;
  readonly response_bound: boolean | null;
  readonly request_hash: string | null;
  readonly response_hash: string | null;
  readonly checked_at: string;
};

const STORE = `
  insert into request_evidence
    (request_id, provider, answer_id, verdict, signed_text, signature, signer, expected_signer, text_form,
    request_bound, response_bound, request_hash, response_hash, account)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text,
    $10::boolean, $11::boolean, $12::text, $13::text, $14::text)
  on conflict (request_id) do update set
    provider = excluded.provider, answer_id = excluded.answer_id, verdict = excluded.verdict,
    signed_text = excluded.signed_text, signature = excluded.signature, signer = excluded.signer,
    expected_signer = excluded.expected_signer, text_form = excluded.text_form,
    request_bound = excluded.request_bound, response_bound = excluded.response_bound,
    request_hash = excluded.request_hash, response_hash = excluded.response_hash, checked_at = now()`;

const READ = `
  select e.request_id, e.provider, e.answer_id, e.verdict, e.signed_text, e.signature, e.signer,
    e.expected_signer, e.text_form, e.request_bound, e.response_bound, e.request_hash, e.response_hash,
    e.checked_at
  from request_evidence e join inference_request r on r.id = e.request_id
  where r.account = $1::text
    and e.request_id in (select jsonb_array_elements_text($2::jsonb))`;

const READ_NEWEST = `
  select p.provider, n.is_bound
  from jsonb_array_elements_text($1::jsonb) as p(provider)
  cross join lateral (
    select e.verdict = 'verified' and e.response_bound is true as is_bound
    from request_evidence e
    where e.provider = p.provider and e.verdict <> 'unreachable'
      and e.checked_at > now() - $2::int * interval '1 second'
    order by e.checked_at desc limit 1
  ) n`;
