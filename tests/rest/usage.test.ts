// @module-tag large
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import { ask } from "../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { describeDatabases } from "../support/servers/database.ts";
import { useStack } from "../support/stack.ts";

type Customer = Seeded & { readonly mk: string };
type Row = Record<string, unknown> & { id: number; cost: string; request_id: string };
type History = { data: Row[]; next_cursor?: string; total?: number; limit: number; offset: number };
type Stats = { total_requests: number; total_cost: string };

const ZERO = { cached_tokens: 0, cache_write_tokens: 0, cache_write_1h_tokens: 0 };

describeDatabases("usage", (kind) => {
  const stack = useStack({}, kind);

  async function newCustomer(neuron = 10n ** 18n): Promise<Customer> {
    const seeded = await seedAccount(stack().app.database, neuron);
    const { secret } = await stack().app.managementKeys.create(seeded.account, "reader", ["account:read"]);
    return { ...seeded, mk: secret };
  }

  async function chat(secret: string, tokens = 3): Promise<void> {
    const body = { model: MODEL, messages: [{ role: "user", content: "Hello" }], max_tokens: tokens };
    expect((await rest(stack().origin, "/v1/chat/completions", secret, { body })).status).toBe(200);
  }

  async function get<T>({ mk }: Customer, path: string, query: Record<string, unknown> = {}): Promise<T> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) search.set(name, String(value));
    const { status, body } = await rest<T>(stack().origin, `/v1/account/usage/${path}?${search}`, mk);
    expect({ status, body }).toMatchObject({ status: 200 });
    return body;
  }

  async function failureOf({ mk }: Customer, path: string): Promise<unknown[]> {
    const { status, body } = await rest<RestFailure>(stack().origin, `/v1/account/usage/${path}`, mk);
    return [status, body.error.code, body.error.param];
  }

  /** Moves a request to another day and another trust mode. */
  async function rewrite(requestId: string, day: string, trustMode = "standard", model = MODEL) {
    await stack().app.database.rows(
      `update inference_request set created_at = $2::timestamptz, trust_mode = $3::text, model = $4::text
       where id = $1::text`,
      [requestId, day, trustMode, model],
    );
  }

  test("costs of the history, of the days and of the sums equal what the account paid in the ledger", async () => {
    const customer = await newCustomer();
    await Promise.all([1, 2, 3, 4, 5].map((tokens) => chat(customer.secret, tokens)));
    const history = await get<History>(customer, "history", { limit: 100 });
    const daily = await get<{ data: { cost: string; request_count: number }[] }>(customer, "daily");
    const stats = await get<Stats>(customer, "stats");
    const [entry] = await stack().app.database.rows<{ paid: string }>(
      `select (-sum(amount))::text as paid from ledger_entry
       where account = $1::text and book in ('deposit', 'credit', 'held') and cause <> 'deposit'`,
      [customer.account],
    );
    const sum = (rows: readonly { cost: string }[]) =>
      String(rows.reduce((total, { cost }) => total + BigInt(cost), 0n));
    expect([sum(history.data), sum(daily.data), stats.total_cost]).toEqual(Array(3).fill(entry?.paid));
    expect(history.data).toHaveLength(5);
    expect(stats.total_requests).toBe(5);
    for (const row of history.data)
      expect(BigInt(String(row.deposit_used)) + BigInt(String(row.credit_used))).toBe(BigInt(row.cost));
    expect((await new LedgerService(stack().app.database).verify()).faults).toEqual([]);
  });

  test("a row has everything that is published about a request", async () => {
    const customer = await newCustomer();
    await chat(customer.secret, 4);
    const { data, ...rest } = await get<History>(customer, "history");
    const [row] = data;
    const tokens = Number(row?.input_tokens);
    const cost = String(BigInt(tokens) * INPUT_PRICE + 4n * OUTPUT_PRICE);
    expect(rest).toEqual({ object: "list", currency: "0g", limit: 20, offset: 0 });
    expect(row).toEqual({
      id: expect.any(Number),
      request_id: expect.stringMatching(/^req-[0-9a-f]{32}$/),
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      model_id: MODEL,
      canonical_id: MODEL,
      provider_address: PROVIDER.address.toLowerCase(),
      api_key_id: customer.keyId,
      input_tokens: expect.any(Number),
      output_tokens: 4,
      ...ZERO,
      cost,
      cache_saving: "0",
      deposit_used: cost,
      credit_used: "0",
      trust_mode: "private",
    });
    expect(await get(customer, "stats")).toEqual({
      total_requests: 1,
      total_tokens: tokens + 4,
      prompt_tokens: tokens,
      completion_tokens: 4,
      total_cost: cost,
      currency: "0g",
    });
    expect(await get(customer, "daily")).toEqual({
      object: "list",
      currency: "0g",
      data: [
        {
          date: new Date().toISOString().slice(0, 10),
          model_id: MODEL,
          canonical_id: MODEL,
          request_count: 1,
          input_tokens: tokens,
          output_tokens: 4,
          ...ZERO,
          cost,
        },
      ],
    });
  });

  test("credit is spent before deposit, and each row shows how much came from each", async () => {
    const customer = await newCustomer(1_000n);
    await stack().app.database.rows(
      `with given as (update account set credit = 10 where address = $1::text returning address)
       insert into ledger_entry (transfer_id, book, account, amount, cause)
       select 'credit:' || given.address, b.book, b.account, b.amount, 'credit'
       from given, lateral (values ('credit', given.address, 10), ('deposits-in', 'chain', -10)) as b(book, account, amount)`,
      [customer.account],
    );
    await chat(customer.secret, 3);
    const [row] = (await get<History>(customer, "history")).data;
    expect([row?.credit_used, row?.deposit_used]).toEqual(["10", String(BigInt(row?.cost ?? 0) - 10n)]);
  });

  test("cache counts of a provider are shown, and invalid ones count as zero", async () => {
    const customer = await newCustomer();
    const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
    const details = { cached_tokens: 5, cache_write_tokens: -1, cache_write_1h_tokens: 2 };
    stack().provider.behaviour = {
      usageJson: JSON.stringify({ ...usage, prompt_tokens_details: details }),
    };
    await chat(customer.secret);
    stack().provider.behaviour = { usageJson: JSON.stringify({ ...usage, prompt_tokens_details: "none" }) };
    await chat(customer.secret);
    stack().provider.behaviour = {};
    const { data } = await get<History>(customer, "history");
    expect(data).toMatchObject([
      { input_tokens: 9, ...ZERO },
      { input_tokens: 9, cached_tokens: 5, cache_write_tokens: 0, cache_write_1h_tokens: 2 },
    ]);
  });

  test("filters apply to the sums, the days and the history alike; both dates are included", async () => {
    const customer = await newCustomer();
    const other = await stack().app.apiKeys.create(customer.account, "other");
    for (let n = 0; n < 4; n++) await chat(customer.secret);
    await chat(other.secret);
    const { data } = await get<History>(customer, "history");
    const [last, fourth, third, second, first] = data.map(({ request_id }) => request_id);
    await rewrite(first ?? "", "2026-01-31T00:00:00Z", "verified");
    await rewrite(second ?? "", "2026-01-31T23:59:59.999Z", "private");
    await rewrite(third ?? "", "2026-02-01T00:00:00Z", "standard", "another");
    const idsOf = async (query: Record<string, string>) => {
      const listed = await get<History>(customer, "history", { ...query, include_total: true });
      const { total_requests } = await get<Stats>(customer, "stats", query);
      const days = await get<{ data: { request_count: number }[] }>(customer, "daily", query);
      const counted = days.data.reduce((sum, { request_count }) => sum + request_count, 0);
      expect([listed.total, total_requests, counted]).toEqual(Array(3).fill(listed.data.length));
      return listed.data.map(({ request_id }) => request_id);
    };
    expect(await idsOf({ start_date: "2026-01-31", end_date: "2026-01-31" })).toEqual([second, first]);
    expect(await idsOf({ start_date: "2026-02-01" })).toEqual([last, fourth, third]);
    expect(await idsOf({ end_date: "2026-02-01" })).toEqual([third, second, first]);
    expect(await idsOf({ end_date: "2026-01-30" })).toEqual([]);
    expect(await idsOf({ trust_mode: "verified" })).toEqual([first]);
    expect(await idsOf({ model_id: "another" })).toEqual([third]);
    expect(await idsOf({ api_key_id: other.key.id })).toEqual([last]);
    expect(await idsOf({ api_key_id: newId() })).toEqual([]);
    expect(await idsOf({ source: "api_key" })).toHaveLength(5);
    expect(await idsOf({ source: "wallet" })).toEqual([]);
    expect(await idsOf({ source: "api_key", trust_mode: "private", end_date: "2026-01-31" })).toEqual([
      second,
    ]);
    const days = await get<{ data: object[] }>(customer, "daily", {
      dimensions: "trust_mode",
      end_date: "2026-02-01",
    });
    expect(days.data).toMatchObject([
      { date: "2026-02-01", model_id: "another", trust_mode: "standard" },
      { date: "2026-01-31", trust_mode: "private" },
      { date: "2026-01-31", trust_mode: "verified" },
    ]);
  });

  test("pages by cursor list every request once, also while new ones arrive; offsets work as well", async () => {
    const customer = await newCustomer();
    for (let n = 0; n < 5; n++) await chat(customer.secret);
    const all = (await get<History>(customer, "history")).data.map(({ id }) => id);
    expect(all).toEqual([...all].sort((one, other) => other - one));
    const first = await get<History>(customer, "history", { limit: 2, include_total: true });
    expect(first.total).toBe(5);
    await chat(customer.secret);
    const second = await get<History>(customer, "history", { limit: 2, cursor: first.next_cursor });
    const third = await get<History>(customer, "history", { limit: 2, cursor: second.next_cursor });
    expect([first, second, third].flatMap(({ data }) => data.map(({ id }) => id))).toEqual(all);
    expect([second.total, third.next_cursor]).toEqual([undefined, undefined]);
    const skipped = await get<History>(customer, "history", { limit: 3, offset: 1 });
    expect(skipped.data.map(({ id }) => id)).toEqual(all.slice(0, 3));
    expect(skipped.offset).toBe(1);
  });

  test("neither the numbers of its requests nor their cursors reveal to an account how busy the router is", async () => {
    const [mine, other] = [await newCustomer(), await newCustomer()];
    await chat(mine.secret);
    for (let n = 0; n < 3; n++) await chat(other.secret);
    await chat(mine.secret);
    const { data, next_cursor = "" } = await get<History>(mine, "history", { limit: 1 });
    expect(data.map(({ id }) => id)).toEqual([2]);
    const { data: rest } = await get<History>(mine, "history", { cursor: next_cursor });
    expect(rest.map(({ id }) => id)).toEqual([1]);
    expect(Buffer.from(next_cursor, "base64url").toString()).toContain('"2"');
    const old = Buffer.from(JSON.stringify(["usage", "900000"])).toString("base64url");
    expect((await failureOf(mine, `history?cursor=${old}`))[1]).toBe("invalid_cursor");
  });

  test("a request that is running, or cost nothing and delivered nothing, is not in the usage", async () => {
    const customer = await newCustomer();
    stack().provider.behaviour = { instead: { status: 500, contentType: "text/plain", body: "no" } };
    const body = { model: MODEL, messages: [{ role: "user", content: "Hello" }] };
    expect((await rest(stack().origin, "/v1/chat/completions", customer.secret, { body })).status).toBe(502);
    stack().provider.behaviour = {};
    expect((await get<History>(customer, "history")).data).toEqual([]);
    expect(await get<Stats>(customer, "stats")).toMatchObject({ total_requests: 0, total_cost: "0" });
  });

  test("an account sees only its own usage", async () => {
    const [mine, other] = [await newCustomer(), await newCustomer()];
    await chat(other.secret);
    expect((await get<History>(mine, "history")).data).toEqual([]);
    expect((await get<History>(mine, "history", { api_key_id: other.keyId })).data).toEqual([]);
  });

  test.each([
    ["history?limit=0", "limit"],
    ["history?limit=101", "limit"],
    ["history?limit=1e1", "limit"],
    ["history?offset=-1", "offset"],
    ["stats?start_date=2026-02-30", "start_date"],
    ["stats?end_date=today", "end_date"],
    ["stats?start_date=2026-02-02&end_date=2026-02-01", "end_date"],
    ["daily?dimensions=model", "dimensions"],
    ["stats?source=cash", "source"],
    ["stats?trust_mode=any", "trust_mode"],
    ["stats?api_key_id=1' or '1'='1", "api_key_id"],
    ["history?include_total=1", "include_total"],
  ])("%s is refused by name", async (path, param) => {
    expect(await failureOf(await newCustomer(), path)).toEqual([400, "invalid_parameter", param]);
  });

  test("a foreign cursor, an unknown filter, and a cursor with an offset are refused", async () => {
    const customer = await newCustomer();
    expect((await failureOf(customer, "history?cursor=abc"))[1]).toBe("invalid_cursor");
    expect((await failureOf(customer, "stats?model=x"))[1]).toBe("invalid_parameter");
    expect(await failureOf(customer, "history?cursor=abc&offset=2")).toEqual([
      400,
      "invalid_parameter",
      "offset",
    ]);
  });

  test("GraphQL returns the same as REST, in pages, with the request behind each row", async () => {
    const customer = await newCustomer();
    for (const tokens of [1, 2, 3]) await chat(customer.secret, tokens);
    const stats = await get<Stats>(customer, "stats");
    const { data } = await get<History>(customer, "history");
    const query = `query ($after: Cursor, $from: DateTime) { viewer { account { usage(from: $from, source: API_KEY) {
      stats { requestCount cost }
      daily { date modelId trustMode stats { cost } }
      history(first: 2, after: $after) { nodes { number inputTokens outputTokens cost request { requestId inputTokens status } } pageInfo { hasNextPage endCursor } }
    } } } }`;
    const usageOf = async (variables: object) => {
      const { data: answer, errors } = await ask(stack().origin, customer.mk, query, variables);
      expect(errors).toBeUndefined();
      return answer.viewer.account.usage;
    };
    const first = await usageOf({});
    expect(first).toMatchObject({
      stats: { requestCount: "3", cost: stats.total_cost },
      daily: [{ modelId: MODEL, trustMode: null, stats: { cost: stats.total_cost } }],
      history: { pageInfo: { hasNextPage: true } },
    });
    const second = await usageOf({ after: first.history.pageInfo.endCursor });
    expect([...first.history.nodes, ...second.history.nodes]).toEqual(
      data.map(({ id, cost, request_id, input_tokens, output_tokens }) => ({
        number: String(id),
        inputTokens: input_tokens,
        outputTokens: output_tokens,
        cost,
        request: { requestId: request_id, inputTokens: input_tokens, status: "COMPLETED" },
      })),
    );
    expect((await usageOf({ from: "2999-01-01T00:00:00Z" })).stats).toEqual({ requestCount: "0", cost: "0" });
    const refused = await ask(
      stack().origin,
      customer.secret,
      "{ viewer { account { usage { stats { cost } } } } }",
    );
    expect(refused.data).toEqual({ viewer: { account: null } });
  });
});
