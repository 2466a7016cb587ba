/** Statements that Citus would not confine to one account, each by how it begins and, after ` ... `, a part of the rest. */
type Exceptions = {
  readonly reason: string;
  readonly statements: Readonly<Record<string, readonly string[]>>;
};

/**
 * Every statement of the recorded load that reads or writes a table spread by account without the account, and with
 * `order of` every use of the order of a sequence. docs/operations.md says what each group needs on Citus.
 */
export const EXCEPTIONS: readonly Exceptions[] = [
  {
    reason: "One statement serves requests of several accounts: it must be split by account.",
    statements: {
      "with requested as ( select * from jsonb_to_recordset($1::jsonb) as a(n int, account text": [
        "allotment",
        "allotment on conflict",
        "api_key",
      ],
      "with requested as ( select * from jsonb_to_recordset($1::jsonb) as a(id text, account text": [
        "allotment",
        "inference_request on conflict",
      ],
      "with requested as ( select $1::text as id, $2::text as account, $3::uuid as key, $4::numeric as minimum":
        ["api_key"],
      "with given as ... service_type text, total int, before numeric, usage int) ), totals as": [
        "allotment",
        "api_key",
        "inference_request on conflict",
        "receipt_draft",
        "receipt_draft on conflict",
      ],
      "with given as ... service_type text, tags jsonb, total int, before numeric, usage int) ), totals as": [
        "allotment",
        "api_key",
        "inference_request on conflict",
        "receipt_draft",
        "receipt_draft on conflict",
      ],
      "with given as ... service_type text, tags jsonb, n int, account text, key uuid, allotment uuid) ), requested as":
        [
          "allotment",
          "api_key",
          "inference_request",
          "inference_request on conflict",
          "receipt_draft",
          "receipt_draft on conflict",
        ],
      "with given as ... service_type text, n int, account text, key uuid, allotment uuid) ), requested as": [
        "allotment",
        "api_key",
        "inference_request",
        "inference_request on conflict",
        "receipt_draft",
        "receipt_draft on conflict",
      ],
      "with requested as ... awaits_returned boolean) ), resolved as ( update hold h": [
        "api_key",
        "hold",
        "inference_request",
        "receipt_draft",
        "receipt_draft on conflict",
      ],
      "with given as ( select * from jsonb_to_recordset($1::jsonb) as a(id text, returned bytea) ) update receipt_draft d":
        ["receipt_draft"],
    },
  },
  {
    reason: "A credential is found by the hash of its secret: the account is its answer.",
    statements: {
      "select secret_hash as hash, id::text as id, account, revoked_at is not null as revoked, scopes": [
        "management_key",
      ],
      "select secret_hash as hash, id::text as id, account, revoked_at is not null as revoked, coalesce": [
        "api_key",
      ],
      "select token_hash as hash, id::text as id, account from wallet_session": ["wallet_session"],
    },
  },
  {
    reason: "A row is found by its id alone: the account is known to the caller and has to be given.",
    statements: {
      "insert into request_evidence (": ["request_evidence on conflict"],
      "select e.request_id, e.provider, e.answer_id": ["request_evidence"],
      'update "management_key" set': ["management_key"],
      "update management_key set last_used_at": ["management_key"],
      'update "api_key" set': ["api_key"],
      'select "a0".* from "api_key"': ["api_key"],
      "update api_key set last_used_at": ["api_key"],
      "with locked as ( select a.id, a.account from allotment a where a.api_key_id = $1::uuid": ["allotment"],
      "update job j set checkpoint": ["job"],
      "with changed as ( update job j set": ["job"],
      "update job j set leased_until = now() where j.id = $1::uuid": ["job"],
      "select 1 from job j where j.id = $1::uuid and j.fence": ["job"],
    },
  },
  {
    reason:
      "The row has the account only in a column that the DDL adds, so it is found and written by its id.",
    statements: {
      "with created as ( insert into job (": ["hold", "job_content"],
      "select j.id::text as id, j.account, j.api_key_id::text as key_id": ["job_content"],
      "delete from job_content where id = $1::uuid": ["job_content"],
      "select 1 from allotment where id = any(": ["allotment"],
      "update job_content set request = null": ["job_content"],
      "select result from job_content where id = $1::uuid": ["job_content"],
      "select result::json -> 'data' -> $2::integer": ["job_content"],
      "select 1 from inference_request r where r.id = $2::text and r.account = $1::text": ["receipt_draft"],
      "insert into image_file (job_id, ordinal, root, state)": ["image_file"],
      "update image_file set": ["image_file"],
    },
  },
  {
    reason: "Work of the whole deployment, which asks every shard.",
    statements: {
      "select p.provider, n.is_bound from jsonb_array_elements_text": ["request_evidence"],
      "delete from batch_line where (batch_id, n) in (": ["batch", "batch_line"],
      "delete from cached_answer where (account, name) in (": ["cached_answer"],
      "delete from client_file_part where (file_id, n) in (": ["batch", "client_file", "client_file_part"],
      "delete from client_file where id in (": ["batch", "client_file", "client_file_part"],
      "update client_file set state = 'deleted' where id in (": ["batch", "client_file"],
      "delete from idempotency_key where (account, method, route, key) in (": ["idempotency_key"],
      "select id from hold where state = 'open' and expires_at < now()": ["hold"],
      "select a.address from account a left join usage_rolled p": [
        "account",
        "usage_provider_rolled",
        "usage_rolled",
      ],
      "with unclaimed as ( select id, created_at, case when checkpoint": ["job", "job_content"],
      "with due as ( select d.request_id from receipt_draft d": [
        "inference_request",
        "receipt_draft",
        "request_evidence",
      ],
      "select position::text as position, exists (select 1 from webhook": ["webhook"],
      "with ranked as ( select w.id, w.next_attempt_at": ["webhook"],
      "delete from job_content where id in ( select id": ["job_content"],
      "delete from wallet_session where id in ( select id": ["wallet_session"],
      "select job.id::text as id from job join job_content content": ["image_file", "job", "job_content"],
      "select job_id::text as job_id, ordinal, root, failures": ["image_file"],
      "with renewed as ( insert into process_lease": ["allotment"],
      "delete from process_lease l where l.id = $1::uuid": ["allotment", "hold", "idempotency_key"],
      "with lost as ( select l.id from process_lease l ... named as ( select a.id": [
        "allotment",
        "api_key",
        "hold",
        "idempotency_key",
        "inference_request",
      ],
      "with lost as ( select l.id from process_lease l ... named as ( select h.id": ["api_key", "hold"],
      "with lost as ( select l.id from process_lease l ... named as ( select k.account": ["idempotency_key"],
      "update job j set leased_until = now() + make_interval(secs => $2::integer) from jsonb_to_recordset": [
        "job",
      ],
      "select account from usage_rolled order by account for update": ["usage_rolled"],
      "select account from usage_provider_rolled order by account for update": ["usage_provider_rolled"],
      "delete from usage_rollup u where u.account not in": ["removed_usage", "usage_rollup"],
      "delete from usage_tag_rollup u where u.account not in": ["removed_usage", "usage_tag_rollup"],
      "delete from usage_rolled u where u.account not in": ["removed_usage", "usage_rolled"],
      "delete from usage_provider_rollup u where u.account not in": [
        "removed_usage",
        "usage_provider_rollup",
      ],
      "delete from usage_provider_rolled u where u.account not in": [
        "removed_usage",
        "usage_provider_rolled",
      ],
    },
  },
  {
    reason: "Deposits are found by their place on the chain, of all accounts.",
    statements: {
      "with confirmed as ( update deposit set status = 'confirmed'": ["deposit"],
      "select id, transaction_hash, account, amount::text as amount from deposit where chain_id = $1::bigint and orphaned":
        ["deposit"],
      "insert into deposit (id, account, amount": ["deposit on conflict"],
      "select id, account, amount::text as amount, status, chain_id::text as chain_id": ["deposit"],
    },
  },
  {
    reason:
      "`ledger:verify` compares all accounts, and reads the transfers since the last time by the order of their ids.",
    statements: {
      "with last as ( select * from ledger_verification": [
        "allotment",
        "api_key",
        "deposit",
        "earlier_ledger_entry",
        "hold",
        "inference_request",
        "ledger_transfer",
        "order of earlier_ledger_entry.id",
        "order of ledger_transfer.id",
        "verified_account",
        "verified_key",
        "verified_key on conflict",
      ],
      "with sums as materialized ( select coalesce(e.account, t.account)": [
        "earlier_ledger_entry",
        "inference_request",
        "ledger_entry",
        "ledger_transfer",
        "order of earlier_ledger_entry.id",
        "order of ledger_transfer.id",
        "removed_usage",
        "verified_account",
        "verified_key",
        "verified_key on conflict",
      ],
      "select 'a transfer does not sum to zero'": ["earlier_ledger_entry"],
      "select 'a transfer was made twice'": ["ledger_transfer"],
      "select 'the opening balances do not sum to zero'": ["ledger_opening"],
      "select 'the ' || b.book || ' of an account is not the sum": ["ledger_entry"],
      "select 'entries of an account that does not exist'": ["account", "ledger_entry"],
      "select 'held is not the sum of the open holds": ["allotment", "api_key", "hold"],
      "select 'a key without a period was not charged": ["api_key", "inference_request", "removed_usage"],
      "select 'a confirmed deposit is not booked exactly once'": ["deposit", "ledger_entry"],
      "select 'a finished request has an open hold": ["hold", "inference_request"],
      "select 'a running request has neither a hold": ["allotment", "hold", "inference_request"],
      "select 'a payment has no request'": ["inference_request", "ledger_transfer"],
      "select 'the cost of a request is not what its account paid'": ["inference_request", "ledger_entry"],
      "select 'the requests of an account are not numbered without gaps'": [
        "inference_request",
        "removed_usage",
      ],
      "select 'the sums of usage are not those of the requests'": ["usage_day", "usage_rollup"],
      "select 'the sums of usage by provider are not those of the requests'": ["usage_provider_rollup"],
      "select 'the sums of usage of a tag are not those of its requests'": [
        "inference_request",
        "removed_tag_usage",
        "usage_rolled",
        "usage_tag_rollup",
      ],
      "select 'the requests of a tag did not spend what its budget": [
        "inference_request",
        "removed_tag_usage",
      ],
      "select (select count(*)::text from ledger_entry) as entries": [
        "hold",
        "ledger_entry",
        "ledger_transfer",
      ],
    },
  },
];
