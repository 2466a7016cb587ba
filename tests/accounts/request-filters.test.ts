// @module-tag large
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import {
  type InferenceRequest,
  type RequestFilter,
  type RequestOrder,
  RequestsService,
  requestCursor,
} from "../../src/inference/requests/requests.service.ts";
import { expectRows } from "../support/filtered-list.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const ACCOUNT = `0x${"1".repeat(40)}`;
const KEYS = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"] as const;
const START = Date.UTC(2026, 0, 1);

/** 60 requests of an account, some at the same time and of the same cost, and one of another account. */
const ROWS = `
  insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
    output_price, input_cost, output_cost, total_cost, error_code, created_at, finished_at)
  select 'req-' || (n % 7) || '-' || n, case n when 60 then '0x' || repeat('2', 40) else $1 end,
    case when n % 3 < 2 then ($2::uuid[])[n % 3 + 1] end, 'model-' || n % 4, '0x' || repeat((n % 5)::text, 40),
    (array['chatbot', 'text-to-image'])[n % 2 + 1], s.status, 1, 1, s.cost, 0, s.cost,
    case when s.status = 'failed' then (array['provider_error', 'timeout'])[n / 5 % 2 + 1] end,
    to_timestamp($3::float8 / 1000 + n / 3), now()
  from generate_series(0, 60) n cross join lateral (
    select case n % 5 when 0 then 'failed' when 1 then 'aborted' else 'completed' end as status,
      case when n % 5 > 0 then n % 9 end as cost) s`;
const EVIDENCE = `
  insert into request_evidence (request_id, provider, verdict, account)
  select id, provider, case when created_at < to_timestamp($1::float8 / 1000 + 10) then 'forged' else 'verified' end,
    case when right(id, 1) in ('1', '3', '8') then '' else account end
  from inference_request where status = 'completed'`;

async function seed(database: Database): Promise<RequestsService> {
  // These requests have no payments, which the audit at the end of a test would report.
  onTestFinished(async () => void (await database.rows("truncate inference_request cascade")));
  await database.rows(ROWS, [ACCOUNT, KEYS, START]);
  await database.rows(EVIDENCE, [START]);
  return new RequestsService(database);
}

const at = (second: number) => new Date(START + second * 1_000);
const cost = (request: InferenceRequest) => request.cost?.total;
const FILTERS: readonly (readonly [string, RequestFilter, (request: InferenceRequest) => boolean])[] = [
  ["nothing", {}, () => true],
  ["a status", { statuses: ["failed"] }, ({ status }) => status === "failed"],
  ["statuses", { statuses: ["failed", "completed"] }, ({ status }) => status !== "aborted"],
  ["no status", { statuses: [] }, () => false],
  ["a model", { modelId: "model-3" }, ({ model }) => model === "model-3"],
  ["a provider", { provider: `0x${"4".repeat(40)}` }, ({ provider }) => provider.startsWith("0x4")],
  ["a key", { apiKeyId: KEYS[1] }, ({ apiKeyId }) => apiKeyId === KEYS[1]],
  ["a type", { serviceType: "chatbot" }, ({ serviceType }) => serviceType === "chatbot"],
  ["costs", { minCost: 3n, maxCost: 5n }, (one) => (cost(one) ?? -1n) >= 3n && (cost(one) ?? 9n) <= 5n],
  ["times", { from: at(4), before: at(7) }, ({ createdAt }) => createdAt >= at(4) && createdAt < at(7)],
  ["a verdict", { verdict: "forged" }, (one) => one.status === "completed" && one.createdAt < at(10)],
  ["a code", { errorCode: "timeout" }, ({ errorCode }) => errorCode === "timeout"],
  ["an id", { idPrefix: "req-3-" }, ({ id }) => id.startsWith("req-3-")],
  [
    "all of them",
    {
      modelId: "model-2",
      apiKeyId: KEYS[0],
      serviceType: "chatbot",
      minCost: 0n,
      idPrefix: "req-",
      from: at(1),
    },
    (one) =>
      one.model === "model-2" &&
      one.apiKeyId === KEYS[0] &&
      cost(one) !== undefined &&
      one.createdAt >= at(1),
  ],
];
const ORDERS: readonly RequestOrder[] = (["created", "cost"] as const).flatMap((sort) =>
  (["asc", "desc"] as const).map((direction) => ({ sort, direction })),
);

describeDatabases("filters of requests", (kind) => {
  test("each selects what it says, in each order, in pages from both ends, and counts it", async () => {
    const requests = await seed(await openTestDatabase(kind));
    const all = (await requests.list(ACCOUNT, { first: 100 })).rows;
    expect(all).toHaveLength(60);
    for (const [name, filter, matches] of FILTERS)
      for (const order of ORDERS) {
        const expected = all.filter(matches).toSorted((one, other) => compare(one, other, order));
        await expectRows(
          `${name}, ${order.sort} ${order.direction}`,
          {
            list: (page) => requests.list(ACCOUNT, page, { filter, order }),
            count: () => requests.count(ACCOUNT, filter),
            cursorOf: (request) => requestCursor(request, order),
          },
          expected,
        );
      }
  });

  test("more than 10,000 rows are estimated", async () => {
    const database = await openTestDatabase(kind);
    const requests = await seed(database);
    await database.rows(
      `insert into inference_request (id, account, model, provider, service_type, status, input_price, output_price)
       select 'many-' || n, $1, 'm', 'p', 'chatbot', 'failed', 1, 1 from generate_series(1, 10500) n`,
      [ACCOUNT],
    );
    await database.rows("analyze inference_request");
    const counted = await requests.count(ACCOUNT, {});
    expect(counted.isExact).toBe(false);
    expect(Math.abs(counted.rows - 10_560)).toBeLessThan(600);
    expect(await requests.count(ACCOUNT, { modelId: "model-3" })).toMatchObject({ isExact: true });
    await database.rows(
      `insert into request_evidence (request_id, provider, verdict, account)
       select id, provider, 'missing', account from inference_request where id like 'many-%'`,
      [],
    );
    await database.rows("analyze request_evidence");
    const missing = await requests.count(ACCOUNT, { verdict: "missing" });
    expect(missing.isExact).toBe(false);
    expect(Math.abs(missing.rows - 10_500)).toBeLessThan(600);
    expect(await requests.count(ACCOUNT, { verdict: "forged" })).toMatchObject({ isExact: true });
    expect(await requests.count(`0x${"2".repeat(40)}`, { verdict: "missing" })).toEqual({
      rows: 0,
      isExact: true,
    });
  });

  test("a cursor of another order is refused, and names its argument", async () => {
    const requests = await seed(await openTestDatabase(kind));
    const [first] = (await requests.list(ACCOUNT, { first: 1 })).rows;
    if (!first) throw new Error("there are requests");
    const byCost = { sort: "cost", direction: "desc" } as const;
    await expect(
      requests.list(ACCOUNT, { first: 1, after: requestCursor(first) }, { order: byCost }),
    ).rejects.toMatchObject({ code: "invalid_cursor", param: "after" });
    await expect(
      requests.list(ACCOUNT, { last: 1, before: requestCursor(first, byCost) }),
    ).rejects.toMatchObject({ code: "invalid_cursor", param: "before" });
  });
});

function compare(one: InferenceRequest, other: InferenceRequest, { sort, direction }: RequestOrder): number {
  const keys = [one, other].map((request) =>
    sort === "created" ? request.createdAt.getTime() : Number(cost(request) ?? 0n),
  ) as [number, number];
  const ascending =
    keys[0] - keys[1] || one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);
  return direction === "asc" ? ascending : -ascending;
}
