import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { expect, test } from "vitest";

/** The module in `src` that writes each table. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  accounts: [
    "account",
    "allotment",
    "closed_month",
    "deposit",
    "hold",
    "inference_request",
    "key_limit_notice",
    "ledger_check",
    "ledger_entry",
    "ledger_opening",
    "ledger_transfer",
    "ledger_verification",
    "process_lease",
    "removed_tag_usage",
    "removed_usage",
    "retention_lease",
    "tag_budget",
    "tag_budget_notice",
    "usage_day",
    "usage_provider_rolled",
    "usage_provider_rollup",
    "usage_rolled",
    "usage_rollup",
    "usage_tag_rollup",
    "verified_account",
    "verified_key",
  ],
  chain: [
    "agent_authorization",
    "agent_clone",
    "agent_creator",
    "agent_data",
    "agent_delegation",
    "agent_event",
    "agent_transfer",
    "market_event",
    "sealed_key",
    "watcher_block",
    "watcher_cursor",
  ],
  "client-files": ["client_file", "client_file_part"],
  db: ["deployment_secret"],
  events: ["outbox", "outbox_forgotten"],
  idempotency: ["idempotency_key"],
  inference: [
    ...["batch", "batch_line", "cached_answer"],
    ...["image_file", "image_file_lease", "provider_hour", "request_evidence"],
  ],
  jobs: ["job", "job_content"],
  keys: ["api_key", "management_key", "sign_in_nonce", "wallet_session"],
  operations: ["process_report"],
  receipts: ["receipt", "receipt_draft", "receipt_log"],
  storage: [
    "file_progress",
    "held_bytes",
    "held_file",
    "held_segment",
    "kv_control",
    "kv_entry",
    "kv_replay",
    "kv_stream",
    "kv_transaction",
    "submission",
  ],
  webhooks: ["webhook", "webhook_attempt", "webhook_scan"],
};

/** Writes by another module, as `table <- file`, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "api_key <- src/accounts/allotments/leases.store.ts":
    "what a key holds is written by the statement that releases the money",
  "api_key <- src/accounts/allotments/settle.sql.ts":
    "what a key has spent is written by the statements that charge the money",
  "api_key <- src/accounts/allotments/take.store.ts": "and by the one that takes it",
  "api_key <- src/accounts/holds.store.ts": "and by the one that holds it for a job",
  "api_key <- src/accounts/settlements.store.ts": "and by the one that settles it",
  "api_key <- src/accounts/key-spending.ts": "the same columns, when they are recounted",
  "hold <- src/jobs/job.store.ts":
    "a new job extends its hold to its deadline in the statement that inserts it",
  "job <- src/accounts/retention/requests-source.store.ts":
    "the job of a request is removed by the statement that removes the request",
  "outbox <- src/accounts/allotments/leases.store.ts": "a hot statement appends its own events",
  "outbox <- src/accounts/allotments/lost-holds.store.ts": "events of a release are committed with it",
  "outbox <- src/accounts/allotments/recalls.store.ts": "a hot statement appends its own events",
  "outbox <- src/accounts/allotments/settle.sql.ts": "a hot statement appends its own events",
  "outbox <- src/accounts/allotments/take.store.ts": "a hot statement appends its own events",
  "outbox <- src/accounts/holds.store.ts": "a hot statement appends its own events",
  "outbox <- src/accounts/ledger.store.ts": "a hot statement appends its own events",
  "outbox <- src/accounts/settlements.store.ts": "a hot statement appends its own events",
  "outbox <- src/jobs/job.store.ts": "a hot statement appends its own events",
  "outbox <- src/storage/progress/progress.store.ts": "a hot statement appends its own events",
  "request_evidence <- src/accounts/retention/requests-source.store.ts":
    "and so is the evidence of its answer",
};

const CREATES = /\bcreate (?:unlogged )?table (?:if not exists )?([a-z_]+)/g;
const WRITES = /\b(?:insert into|update|delete from|merge into)\s+(?:only\s+)?([a-z_]+)\b/g;

const tables = await tablesOfMigrations();
const ownerOf = new Map(
  Object.entries(OWNERS).flatMap(([owner, names]) => names.map((name) => [name, owner])),
);

test("every table of the migrations has one owner", () => {
  expect([...tables].toSorted()).toEqual([...ownerOf.keys()].toSorted());
});

test("SQL outside a table's module does not write to it, apart from listed exceptions", async () => {
  const foreign = new Set<string>();
  for (const [file, text] of await sources())
    for (const [, table = ""] of text.matchAll(WRITES))
      if (tables.has(table) && file.split("/")[1] !== ownerOf.get(table)) foreign.add(`${table} <- ${file}`);
  expect([...foreign].toSorted()).toEqual(Object.keys(EXCEPTIONS).toSorted());
});

async function sources(): Promise<readonly (readonly [string, string])[]> {
  const files = await Array.fromAsync(glob("{src,subgraphs,gateway}/**/*.ts"));
  return files
    .filter((file) => !file.includes("/migrations/") && !file.includes("node_modules"))
    .map((file) => [file, readFileSync(file, "utf8")] as const);
}

async function tablesOfMigrations(): Promise<ReadonlySet<string>> {
  const files = await Array.fromAsync(glob("src/db/migrations/*.ts"));
  return new Set(
    files.flatMap((file) => [...readFileSync(file, "utf8").matchAll(CREATES)].map(([, table = ""]) => table)),
  );
}
