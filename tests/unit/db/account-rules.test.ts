import { loadModule, parseSync } from "libpg-query";
import { beforeAll, expect, test } from "vitest";
import { type Columns, findFaults } from "../../support/statements/account-rules.ts";
import { findOrders } from "../../support/statements/order-rules.ts";

const PLACEMENT = new Map([
  ["account", "address"],
  ["hold", "account"],
  ["request", "account"],
]);
const COLUMNS: Columns = new Map([
  ["account", new Set(["address", "deposit"])],
  ["hold", new Set(["id", "account", "amount"])],
  ["request", new Set(["id", "account", "cost", "usage_id"])],
]);
const ORDERED: Columns = new Map([["request", new Set(["usage_id"])]]);

beforeAll(() => loadModule());

const faultsOf = (sql: string) => findFaults(parseSync(sql), PLACEMENT, COLUMNS);
const ordersOf = (sql: string) => findOrders(parseSync(sql), ORDERED);

test.each([
  "select * from hold where account = $1",
  "select * from hold h where h.id = $2 and $1 = h.account::text",
  "select * from hold where account = any($1::text[]) and (id = $2 or amount > 0)",
  "select * from hold where account in ($1, $2)",
  "select * from hold where account in (select account from jsonb_to_recordset($1) as a(account text))",
  "select * from hold where (account, id) in (select * from given)",
  "select * from hold h join request r on r.id = h.id and r.account = h.account where h.account = $1",
  "select * from hold join request using (account) where hold.account = $1",
  "select * from given g left join hold h on h.account = g.account",
  "select * from account a, lateral (select * from hold h where h.account = a.address) l where a.address = $1",
  "select * from request r where r.account = $1 and not exists (select 1 from hold h where h.account = r.account)",
  "insert into hold (id, account) values ($1, $2) on conflict (account, id) do nothing",
  "insert into hold (id, account) select id, account from given",
  "update hold h set amount = 1 from given g where g.account = h.account",
  "delete from hold using given g where hold.account = g.account and hold.id = g.id",
  "with hold as (select $1 as account) select * from hold",
  "select * from chain_data",
])("names the account: %s", (sql) => {
  expect(faultsOf(sql)).toEqual([]);
});

test.each([
  ["select * from hold where id = $1", ["hold"]],
  ["select * from hold where account <> $1", ["hold"]],
  ["select * from hold where account is not distinct from $1", ["hold"]],
  ["select * from hold where account = $1 or id = $2", ["hold"]],
  ["select * from hold h join request r on r.account = h.account", ["hold", "request"]],
  ["select * from hold h join request r on r.id = h.id where h.account = $1", ["request"]],
  ["select * from hold h join request r on h.account = r.id where r.account = $1", ["hold"]],
  ["select * from given where exists (select 1 from hold where hold.id = given.id)", ["hold"]],
  ["select (select count(*) from hold) from account where address = $1", ["hold"]],
  ["select 1 union all select amount from hold", ["hold"]],
  [
    "with gone as (delete from hold where id = $1 returning *) select * from gone where account = $2",
    ["hold"],
  ],
  ["insert into hold (id) values ($1)", ["hold"]],
  ["insert into hold (id, account) values ($1, $2) on conflict (id) do nothing", ["hold on conflict"]],
  ["insert into chain_data select * from request", ["request"]],
  ["update hold set amount = 1 where id = $1", ["hold"]],
  ["delete from hold", ["hold"]],
])("finds what does not name it: %s", (sql, faults) => {
  expect(faultsOf(sql)).toEqual(faults);
});

test("the order of a sequence is used by sorting, comparing and the least and greatest, and not by equality", () => {
  for (const sql of [
    "select * from request where account = $1 order by usage_id desc",
    "select * from request r where r.usage_id > $1",
    "select * from request r where (r.cost, r.usage_id) < ($1, $2)",
    "select * from request where usage_id between $1 and $2",
    "select max(usage_id) from request",
    "select row_number() over (partition by account order by usage_id) from request",
    "select * from given g where exists (select 1 from request r where r.usage_id <= g.n)",
    "select 1 union select max(r.usage_id) from request r",
  ])
    expect(ordersOf(sql), sql).toEqual(["request.usage_id"]);
  for (const sql of [
    "select usage_id from request where usage_id = $1 order by cost",
    "insert into request (id, usage_id) values ($1, nextval('usage_id'))",
    "select * from other order by usage_id",
  ])
    expect(ordersOf(sql), sql).toEqual([]);
});
