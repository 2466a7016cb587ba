// @module-tag large
import pg from "pg";
import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { countDeposits, listDeposits } from "../../src/accounts/deposits.store.ts";
import { countSealedKeys, listSealedKeys } from "../../src/chain/agents/sealed-keys/sealed-keys.store.ts";
import { countTokens, listTokens } from "../../src/chain/agents/tokens/agent-tokens.store.ts";
import { countFills, countMoves, listFills, listMoves } from "../../src/chain/market/market.store.ts";
import type { Database } from "../../src/db/database.ts";
import { countRequests, listRequestIds } from "../../src/inference/requests/request-list.store.ts";
import { countJobs, listJobs } from "../../src/jobs/job-view.store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import {
  cursorOf,
  encodeChainCursor,
  encodeCursor,
  encodeTimeCursor,
  type PageRequest,
  pageLimit,
  scanOf,
} from "../../src/kernel/page.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { ManagementKeyService } from "../../src/keys/management-keys/management-key.service.ts";
import {
  countFirst,
  countSubmissions,
  listFirst,
  listSubmissions,
} from "../../src/storage/submissions/submission-lists.store.ts";
import { borrowServerDatabase, openPatiently } from "../support/servers/database.ts";

const ACCOUNT = "0x0000000000000000000000000000000000000001";
const CHAIN = 16_602;
const MARKET = { chainId: CHAIN, contract: { address: ACCOUNT, token: ACCOUNT, startBlock: 0n } } as const;

type List = {
  readonly name: string;
  readonly cursor: string;
  /** What the condition compares that a page adds, which the index must cover. */
  readonly compared: RegExp;
  /** Whether the list is in ascending order. */
  readonly isAscending?: boolean;
  list(database: Database, page: PageRequest): Promise<unknown>;
  /** Without it, the list has no total. */
  count?(database: Database): Promise<unknown>;
};

const keys = (database: Database) => ({ database, clock: systemClock, committed: () => {} });
const byTime = (list: string) => encodeTimeCursor(list, new Date(), newId());
const byEvent = (list: string) => ({
  cursor: encodeChainCursor(list, "7", 1),
  compared: /Index Cond: .*ROW\(block_number, log_index\)/,
});
const byNumber = (list: string) => ({ cursor: encodeCursor(list, "7"), compared: /Index Cond: .*tx_seq/ });

const LISTS: readonly List[] = [
  {
    name: "deposits",
    cursor: encodeCursor("deposits", "2026-01-01T00:00:00.000000Z", "x"),
    compared: /Index Cond: .*account = .*ROW\(seen_at, id\)/,
    list: (database, page) => listDeposits(database, ACCOUNT, page),
    count: (database) => countDeposits(database, ACCOUNT),
  },
  ...([undefined, "failed"] as const).map((state) => ({
    name: `jobs of state ${state}`,
    cursor: byTime("image-jobs"),
    compared: /Index Cond: .*account = .*ROW\(created_at, id\)/,
    list: (database: Database, page: PageRequest) => {
      const from = cursorOf(page) === undefined ? undefined : { at: new Date(), id: newId() };
      const filter = state === undefined ? {} : { states: [state] };
      const query = { limit: pageLimit(page), scan: scanOf(page, "desc"), filter, from };
      return listJobs(database, { account: ACCOUNT, keyId: undefined, kind: "image" }, query);
    },
    count: (database: Database) =>
      countJobs(
        database,
        { account: ACCOUNT, keyId: undefined, kind: "image" },
        state === undefined ? {} : { states: [state] },
      ),
  })),
  {
    name: "requests",
    cursor: byTime("requests"),
    compared: /Index Cond: .*account = .*ROW\(created_at, id\)/,
    list: (database, page) => {
      const from = cursorOf(page) === undefined ? undefined : { at: new Date(), id: "req-1" };
      return listRequestIds(
        { reads: database.reads, account: ACCOUNT, filter: {} },
        { sort: "created", scan: scanOf(page, "desc"), from, limit: pageLimit(page) },
      );
    },
    count: (database) => countRequests({ reads: database.reads, account: ACCOUNT, filter: {} }),
  },
  {
    name: "sk- keys",
    cursor: byTime("api-key"),
    compared: /Index Cond: .*account = .*created_at/,
    isAscending: true,
    list: (database, page) => new ApiKeyService(keys(database)).list(ACCOUNT, page),
  },
  {
    name: "mk- keys",
    cursor: byTime("management-key"),
    compared: /Index Cond: .*account = .*created_at/,
    isAscending: true,
    list: (database, page) => new ManagementKeyService(keys(database)).list(ACCOUNT, page),
  },
  {
    name: "tokens",
    ...byEvent("agent-tokens"),
    list: (database, page) => listTokens(database, CHAIN, { owner: ACCOUNT, contracts: [ACCOUNT] }, page),
    count: (database) => countTokens(database, CHAIN, { owner: ACCOUNT, contracts: [ACCOUNT] }),
  },
  {
    name: "sealed keys",
    ...byEvent("sealed-keys"),
    list: (database, page) => listSealedKeys(database, CHAIN, { to: ACCOUNT, contracts: [ACCOUNT] }, page),
    count: (database) => countSealedKeys(database, CHAIN, { to: ACCOUNT, contracts: [ACCOUNT] }),
  },
  {
    name: "fills",
    ...byEvent("market-fills"),
    list: (database, page) => listFills(database, MARKET, {}, page),
    count: (database) => countFills(database, MARKET, {}),
  },
  {
    name: "moves",
    ...byEvent("market-moves"),
    list: (database, page) => listMoves(database, MARKET, ACCOUNT, page),
    count: (database) => countMoves(database, MARKET, ACCOUNT),
  },
  {
    name: "submissions",
    ...byNumber("submissions"),
    list: (database, page) => listSubmissions(database, CHAIN, {}, page),
    count: (database) => countSubmissions(database, CHAIN, {}),
  },
  {
    name: "submissions of a sender",
    ...byNumber("submissions"),
    list: (database, page) => listSubmissions(database, CHAIN, { sender: ACCOUNT }, page),
    count: (database) => countSubmissions(database, CHAIN, { sender: ACCOUNT }),
  },
  {
    name: "files",
    ...byNumber("files"),
    list: (database, page) => listFirst(database, CHAIN, {}, page),
    count: (database) => countFirst(database, CHAIN, {}),
  },
  {
    name: "files of a sender",
    ...byNumber("files"),
    list: (database, page) => listFirst(database, CHAIN, { owner: ACCOUNT }, page),
    count: (database) => countFirst(database, CHAIN, { owner: ACCOUNT }),
  },
];

describe.skipIf(!inject("postgresUrl"))("lists", () => {
  test.each(LISTS)(
    "a page of $name is a range scan of an index, in its order",
    async ({ cursor, compared, isAscending = false, list }) => {
      const url = await borrowServerDatabase(onTestFinished);
      const database = await openPatiently(url, 2);
      onTestFinished(() => database.close());
      const statements = await recordStatements(async () => {
        await list(database, { first: 20 });
        await list(database, { first: 20, after: cursor });
        await list(database, { last: 20 });
        await list(database, { last: 20, before: cursor });
      });
      expect(statements).toHaveLength(4);
      for (const [n, sign] of [
        [1, isAscending ? ">" : "<"],
        [3, isAscending ? "<" : ">"],
      ] as const) {
        const plan = await explain(url, statements[n]?.text ?? "", statements[n]?.values ?? []);
        expect(plan).toMatch(new RegExp(`${compared.source} ${sign}`));
        expect(plan).not.toMatch(/Seq Scan|^ *->? *Sort/m);
      }
    },
  );

  test.each(LISTS.filter(({ count }) => count))(
    "$name are counted in the order of an index, from one of its ends",
    async ({ count }) => {
      const url = await borrowServerDatabase(onTestFinished);
      const database = await openPatiently(url, 2);
      onTestFinished(() => database.close());
      const [statement] = await recordStatements(async () => void (await count?.(database)));
      const plan = await explain(url, statement?.text ?? "", statement?.values ?? []);
      expect(plan).toMatch(/Index.* Scan/);
      expect(plan).not.toMatch(/Seq Scan|Bitmap|^ *->? *Sort/m);
    },
  );

  test("what an index serves in order is planned without bitmaps, and nothing else", async () => {
    const database = await openPatiently(await borrowServerDatabase(onTestFinished), 2);
    onTestFinished(() => database.close());
    const settings: unknown[] = [];
    for (const isOrdered of [true, false]) {
      const statement = { text: "show enable_bitmapscan", values: [], isOrdered };
      settings.push(...(await database.reads.rows(ACCOUNT, statement)));
    }
    expect(settings).toEqual([{ enable_bitmapscan: "off" }, { enable_bitmapscan: "on" }]);
  });
});

type Recorded = { readonly text: string; readonly values: readonly unknown[] };

/** The statements that `work` sends to PostgreSQL, through stores and the ORM alike. */
async function recordStatements(work: () => Promise<void>): Promise<readonly Recorded[]> {
  const recorded: Recorded[] = [];
  const original = pg.Client.prototype.query;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [query, values] = given;
    const { text, values: own } = typeof query === "string" ? { text: query, values } : Object(query);
    if (/^\s*select/i.test(text)) recorded.push({ text, values: own ?? [] });
    return Reflect.apply(original, this, given);
  });
  await work().finally(() => spy.mockRestore());
  return recorded;
}

/**
 * The generic plan, which a named statement ends up with. The tables are empty, so the planner would prefer
 * sequential scans: they are disabled where there is an alternative.
 */
async function explain(url: string, text: string, values: readonly unknown[]): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("set enable_seqscan = off; set enable_bitmapscan = off");
    await client.query(`set plan_cache_mode = force_generic_plan; prepare list as ${text}`);
    const literals = values.map((value) => pg.escapeLiteral(toText(value)));
    const { rows } = await client.query<{ "QUERY PLAN": string }>(
      `explain execute list${literals.length > 0 ? `(${literals.join(", ")})` : ""}`,
    );
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  } finally {
    await client.end();
  }
}

function toText(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? `{${value.join(",")}}` : String(value);
}
