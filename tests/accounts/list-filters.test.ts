// @module-tag large
import { test } from "vitest";
import {
  countDeposits,
  type DepositFilter,
  listDeposits,
  type StoredDeposit,
} from "../../src/accounts/deposits.store.ts";
import { countSealedKeys, listSealedKeys } from "../../src/chain/agents/sealed-keys/sealed-keys.store.ts";
import {
  countTokens,
  listTokens,
  type StoredToken,
  type TokenFilter,
} from "../../src/chain/agents/tokens/agent-tokens.store.ts";
import { countFills, countMoves, listFills, listMoves } from "../../src/chain/market/market.store.ts";
import type { Database } from "../../src/db/database.ts";
import type { JobFilter, JobView } from "../../src/jobs/jobs.service.ts";
import { JobsService, jobCursor } from "../../src/jobs/jobs.service.ts";
import { toPage } from "../../src/kernel/page.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { StoredSubmission } from "../../src/storage/submissions/submission.row.ts";
import {
  countFirst,
  countSubmissions,
  type FileFilter,
  listFirst,
  listSubmissions,
} from "../../src/storage/submissions/submission-lists.store.ts";
import { expectRows } from "../support/filtered-list.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const CHAIN = 16_602;
const START = Date.UTC(2026, 0, 1);
const at = (second: number) => new Date(START + second * 1_000);
const address = (digit: number): Hex => `0x${String(digit).repeat(40)}`;
const hash = (digit: number): Hex => `0x${String(digit).repeat(64)}`;
const cursorOf = ({ cursor }: { readonly cursor: string }) => cursor;

type Case<Filter, Row> = readonly [name: string, filter: Filter, matches: (row: Row) => boolean];

/** None is confirmed, as no ledger has it. */
const DEPOSITS = `
  insert into deposit (id, account, amount, status, chain_id, transaction_hash, log_index, block_number, block_hash, seen_at)
  select 'deposit-' || n, $1, 1 + n % 9, (array['seen', 'reverted'])[n % 2 + 1], ${CHAIN},
    '0x' || repeat((n % 8)::text, 64), n, n, '0x', to_timestamp($2::float8 / 1000 + n / 3)
  from generate_series(1, 40) n`;
const DEPOSIT_FILTERS: readonly Case<DepositFilter, StoredDeposit>[] = [
  ["nothing", {}, () => true],
  ["statuses", { statuses: ["confirmed", "reverted"] }, ({ status }) => status === "reverted"],
  ["no status", { statuses: [] }, () => false],
  ["amounts", { minAmount: 3n, maxAmount: 5n }, ({ amount }) => amount >= 3n && amount <= 5n],
  ["times", { from: at(4), before: at(7) }, ({ seenAt }) => seenAt >= at(4) && seenAt < at(7)],
  ["a transaction", { transactionHash: hash(5) }, ({ transactionHash }) => transactionHash === hash(5)],
  [
    "all of them",
    { statuses: ["seen"], minAmount: 2n, from: at(1), before: at(12) },
    ({ status, amount, seenAt }) => status === "seen" && amount >= 2n && seenAt >= at(1) && seenAt < at(12),
  ],
];

const SUBMISSIONS = `
  insert into submission (chain_id, tx_seq, root, submitter, identity, size_bytes, start_entry_index, sectors, tags,
    nodes, transaction_hash, transaction_sender, log_index, block_number, block_hash, seen_at)
  select ${CHAIN}, n, '0x' || lpad((n % 30)::text, 64, '0'), '0x', '0x', n % 30 * 100, n, 1, '0x', '[]', '0x',
    '0x' || repeat((n % 3)::text, 40), n, n, '0x', to_timestamp($1::float8 / 1000 + n / 4)
  from generate_series(0, 44) n`;
const FILE_FILTERS: readonly Case<FileFilter, StoredSubmission>[] = [
  ["nothing", {}, () => true],
  ["an owner", { owner: address(1) }, ({ transactionSender }) => transactionSender === address(1)],
  ["sizes", { minSize: 300n, maxSize: 1_200n }, ({ sizeBytes }) => sizeBytes >= 300n && sizeBytes <= 1_200n],
  ["times", { from: at(2), before: at(5) }, ({ seenAt }) => seenAt >= at(2) && seenAt < at(5)],
  ["a time to come", { from: at(1_000) }, () => false],
  ["a time before the first", { before: at(0) }, () => false],
  [
    "all of them",
    { owner: address(2), minSize: 1n, from: at(1), before: at(1_000) },
    (one) => one.transactionSender === address(2) && one.sizeBytes >= 1n && one.seenAt >= at(1),
  ],
];

const TOKENS = `
  insert into agent_transfer (chain_id, contract, block_number, log_index, block_hash, transaction_hash, token_id, sender,
    receiver, with_key)
  select ${CHAIN}, '0x' || repeat((n % 2)::text, 40), n, 0, '0x', '0x', n, '0x' || repeat('0', 40),
    '0x' || repeat((n % 3 + 1)::text, 40), true
  from generate_series(1, 30) n`;
const CREATORS = `
  insert into agent_creator (chain_id, contract, block_number, log_index, block_hash, transaction_hash, token_id, creator)
  select chain_id, contract, block_number, 1, '0x', '0x', token_id, '0x' || repeat((token_id % 4 + 1)::text, 40)
  from agent_transfer where token_id % 4 > 0`;
const TOKEN_FILTERS: readonly Case<TokenFilter, StoredToken>[] = [
  ["nothing", {}, () => true],
  ["a contract", { contracts: [address(1)] }, ({ contract }) => contract === address(1)],
  ["contracts", { contracts: [address(1), address(0)] }, () => true],
  ["no contract", { contracts: [] }, () => false],
  ["an owner", { owner: address(3) }, ({ owner }) => owner === address(3)],
  ["a creator", { creator: address(2) }, ({ creator }) => creator === address(2)],
  ["a creator of nothing", { creator: address(9) }, () => false],
  [
    "all of them",
    { contracts: [address(1)], owner: address(2), creator: address(2) },
    (one) => one.contract === address(1) && one.owner === address(2) && one.creator === address(2),
  ],
];

const SEALED_KEYS = `
  insert into sealed_key (chain_id, id, contract, block_number, log_index, block_hash, transaction_hash, token_id, sender,
    receiver, cause, keys, key_count, removed_at)
  select ${CHAIN}, 'key-' || n, '0x' || repeat('1', 40), n, 0, '0x', '0x', n % 4, null, '0x' || repeat((n % 2)::text, 40),
    'transfer', '[]', 0, case when n % 5 = 0 then now() end
  from generate_series(1, 30) n`;

const MARKET = { chainId: CHAIN, contract: { address: address(7), token: address(8), startBlock: 0n } };
const MARKET_EVENTS = `
  insert into market_event (chain_id, market, block_number, log_index, block_hash, transaction_hash, kind, account, other,
    token_id, amount, previous)
  select ${CHAIN}, '0x' || repeat('7', 40), n, 0, '0x', '0x', (array['fulfilled', 'deposited', 'withdrawn'])[n % 3 + 1],
    '0x' || repeat((n % 2)::text, 40), case when n % 3 = 0 then '0x' || repeat((n % 5)::text, 40) end,
    case when n % 3 = 0 then n % 4 end, n, null
  from generate_series(1, 45) n`;

async function seedJobs(database: Database, { account, keyId }: { account: string; keyId: string }) {
  await database.rows(
    `insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price, output_price)
     select 'req-' || n, $1, case when n % 2 = 0 then $2::uuid end, 'm', 'p', 'text-to-image', 'failed', 1, 1
     from generate_series(1, 40) n`,
    [account, keyId],
  );
  await database.rows(
    `insert into job (id, kind, account, api_key_id, request_id, state, seq, spec, checkpoint, step, event_id, created_at, deadline)
     select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'image', $1,
       case when n % 2 = 0 then $2::uuid end, 'req-' || n,
       (array['pending', 'processing', 'completed', 'failed', 'cancelled'])[n % 5 + 1], 1,
       jsonb_build_object('model', 'model-' || n % 3), '{}', '{}', gen_random_uuid(),
       to_timestamp($3::float8 / 1000 + n / 3), now()
     from generate_series(1, 40) n`,
    [account, keyId, START],
  );
}

describeDatabases("the filters of a list", (kind) => {
  test("of deposits select what they say, in pages from both ends, and count it", async () => {
    const database = await openTestDatabase(kind);
    const { account } = await seedAccount(database, 0n);
    await database.rows(DEPOSITS, [account, START]);
    const all = (await listDeposits(database, account, { first: 100 })).rows;
    for (const [name, filter, matches] of DEPOSIT_FILTERS)
      await expectRows(
        name,
        {
          list: (page) => listDeposits(database, account, page, filter),
          count: () => countDeposits(database, account, filter),
          cursorOf,
        },
        all.filter(matches),
      );
  });

  test("of jobs select what they say, in pages from both ends, and count it", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 0n);
    await seedJobs(database, seeded);
    const filters: readonly Case<JobFilter, JobView>[] = [
      ["nothing", {}, () => true],
      ["states", { states: ["pending", "failed"] }, ({ state }) => state === "pending" || state === "failed"],
      ["no state", { states: [] }, () => false],
      ["a model", { modelId: "model-2" }, ({ spec }) => (spec as { model: string }).model === "model-2"],
      ["a key", { keyId: seeded.keyId }, ({ keyId }) => keyId === seeded.keyId],
      ["times", { from: at(3), before: at(9) }, ({ createdAt }) => createdAt >= at(3) && createdAt < at(9)],
    ];
    // Only lists and counts are read: they need no events.
    const jobs = new JobsService({ database, events: undefined as never, kind: "image" });
    for (const reach of [
      { account: seeded.account, keyId: undefined },
      { account: seeded.account, keyId: seeded.keyId },
    ]) {
      const all = (await jobs.list(reach, { first: 100 })).rows;
      for (const [name, filter, matches] of filters)
        await expectRows(
          name,
          {
            list: (page) => jobs.list(reach, page, { filter }),
            count: () => jobs.count(reach, { filter }),
            cursorOf: (job) => jobCursor("image", job),
          },
          all.filter(matches),
        );
    }
  });

  test("of files and submissions select what they say, in pages from both ends, and count it", async () => {
    const database = await openTestDatabase(kind);
    await database.rows(SUBMISSIONS, [START]);
    const files = (await listFirst(database, CHAIN, {}, { first: 100 })).rows;
    for (const [name, filter, matches] of FILE_FILTERS)
      await expectRows(
        name,
        {
          list: (page) => listFirst(database, CHAIN, filter, page),
          count: () => countFirst(database, CHAIN, filter),
          cursorOf,
        },
        files.filter(matches),
      );
    const all = (await listSubmissions(database, CHAIN, {}, { first: 100 })).rows;
    const [{ root } = { root: hash(0) }] = files;
    for (const filter of [{}, { root }, { sender: address(1) }])
      await expectRows(
        Object.keys(filter).join(),
        {
          list: (page) => listSubmissions(database, CHAIN, filter, page),
          count: () => countSubmissions(database, CHAIN, filter),
          cursorOf,
        },
        all.filter(
          (one) =>
            (!("root" in filter) || one.root === root) &&
            (!("sender" in filter) || one.transactionSender === filter.sender),
        ),
      );
  });

  test("of tokens and sealed keys select what they say, in pages from both ends, and count it", async () => {
    const database = await openTestDatabase(kind);
    for (const text of [TOKENS, CREATORS, SEALED_KEYS]) await database.rows(text);
    const tokens = await listTokens(database, CHAIN, {}, { first: 100 });
    for (const [name, filter, matches] of TOKEN_FILTERS)
      await expectRows(
        name,
        {
          list: async (page) => toPage(await listTokens(database, CHAIN, filter, page), page),
          count: () => countTokens(database, CHAIN, filter),
          cursorOf,
        },
        tokens.filter(matches),
      );
    const keys = await listSealedKeys(database, CHAIN, {}, { first: 100 });
    for (const filter of [{}, { to: address(1) }, { to: address(1), contracts: [address(1)], tokenId: 3n }])
      await expectRows(
        Object.keys(filter).join(),
        {
          list: async (page) => toPage(await listSealedKeys(database, CHAIN, filter, page), page),
          count: () => countSealedKeys(database, CHAIN, filter),
          cursorOf,
        },
        keys.filter(
          ({ to, tokenId }) =>
            (!("to" in filter) || to === filter.to) && (!("tokenId" in filter) || tokenId === filter.tokenId),
        ),
      );
  });

  test("of fulfilled orders and balances select what they say, in pages from both ends, and count it", async () => {
    const database = await openTestDatabase(kind);
    await database.rows(MARKET_EVENTS);
    const fills = (await listFills(database, MARKET, {}, { first: 100 })).rows;
    for (const filter of [{}, { tokenId: 2n }, { account: address(1) }, { tokenId: 2n, account: address(1) }])
      await expectRows(
        Object.keys(filter).join(),
        {
          list: (page) => listFills(database, MARKET, filter, page),
          count: () => countFills(database, MARKET, filter),
          cursorOf,
        },
        fills.filter(
          ({ tokenId, seller, buyer }) =>
            (!("tokenId" in filter) || tokenId === filter.tokenId) &&
            (!("account" in filter) || seller === filter.account || buyer === filter.account),
        ),
      );
    const moves = (await listMoves(database, MARKET, address(1), { first: 100 })).rows;
    await expectRows(
      "moves",
      {
        list: (page) => listMoves(database, MARKET, address(1), page),
        count: () => countMoves(database, MARKET, address(1)),
        cursorOf,
      },
      moves,
    );
  });
});
