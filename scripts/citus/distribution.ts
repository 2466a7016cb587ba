/**
 * Where Citus would keep a table: `by` an account's address, as a `reference` table that each node has a copy of, or
 * `local` on the coordinator. `accountFrom` names the table that has the account of a row which does not name it yet,
 * and the columns by which it is found.
 */
export type Distribution =
  | { readonly kind: "by"; readonly column: string; readonly accountFrom?: AccountSource }
  | { readonly kind: "reference" }
  | { readonly kind: "local" };

type AccountSource = { readonly table: string; readonly column: string; readonly key: string };

const by = (column: string): Distribution => ({ kind: "by", column });
const from = (table: string, column: string): Distribution => ({
  kind: "by",
  column: "account",
  accountFrom: { table, column, key: "id" },
});
const REFERENCE: Distribution = { kind: "reference" };
const LOCAL: Distribution = { kind: "local" };

/** Every table of the database, in the order in which it is distributed. A new table has to be added here. */
export const DISTRIBUTION: Readonly<Record<string, Distribution>> = {
  // Few rows that rarely change, or data of the chain, which is the same for every account.
  process_lease: REFERENCE,
  deployment_secret: REFERENCE,
  watcher_cursor: REFERENCE,
  watcher_block: REFERENCE,
  submission: REFERENCE,
  agent_transfer: REFERENCE,
  agent_data: REFERENCE,
  agent_authorization: REFERENCE,
  agent_creator: REFERENCE,
  agent_delegation: REFERENCE,
  agent_clone: REFERENCE,
  agent_event: REFERENCE,
  sealed_key: REFERENCE,
  market_event: REFERENCE,
  kv_replay: REFERENCE,
  kv_transaction: REFERENCE,
  kv_stream: REFERENCE,
  kv_entry: REFERENCE,
  kv_control: REFERENCE,
  account: by("address"),
  api_key: by("account"),
  management_key: by("account"),
  wallet_session: by("account"),
  idempotency_key: by("account"),
  cached_answer: by("account"),
  inference_request: by("account"),
  hold: by("account"),
  allotment: by("account"),
  earlier_ledger_entry: by("account"),
  ledger_transfer: by("account"),
  deposit: by("account"),
  job: by("account"),
  client_file: by("account"),
  webhook: by("account"),
  key_limit_notice: by("account"),
  usage_day: by("account"),
  usage_rolled: by("account"),
  usage_rollup: by("account"),
  usage_tag_rollup: by("account"),
  usage_provider_rolled: by("account"),
  usage_provider_rollup: by("account"),
  tag_budget: by("account"),
  tag_budget_notice: by("account"),
  verified_account: by("account"),
  verified_key: {
    kind: "by",
    column: "account",
    accountFrom: { table: "api_key", column: "api_key_id", key: "id" },
  },
  ledger_opening: by("account"),
  removed_usage: by("account"),
  removed_tag_usage: by("account"),
  request_evidence: by("account"),
  receipt_draft: from("inference_request", "request_id"),
  job_content: from("job", "id"),
  client_file_part: from("client_file", "file_id"),
  batch: from("job", "id"),
  batch_line: from("job", "batch_id"),
  webhook_attempt: from("webhook", "webhook_id"),
  image_file: from("job", "job_id"),
  // Written by jobs of the whole deployment, or before an account is known.
  outbox: LOCAL,
  outbox_forgotten: LOCAL,
  webhook_scan: LOCAL,
  provider_hour: LOCAL,
  sign_in_nonce: LOCAL,
  ledger_verification: LOCAL,
  ledger_check: LOCAL,
  process_report: LOCAL,
  closed_month: LOCAL,
  retention_lease: LOCAL,
  // One log of all accounts, in one order.
  receipt: LOCAL,
  receipt_log: LOCAL,
  image_file_lease: LOCAL,
  file_progress: LOCAL,
  held_file: LOCAL,
  held_segment: LOCAL,
  held_bytes: LOCAL,
  mikro_orm_migrations: LOCAL,
};
