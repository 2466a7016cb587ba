// @module-tag large
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { ask } from "../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import {
  breakOff,
  completion,
  events,
  good,
  openStream,
  sendJson,
  trickle,
} from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";
import { until } from "../support/until.ts";

const MODEL = "talk";
const router = await useRouter({ models: [MODEL], count: 1 });

type TagRow = {
  readonly name: string;
  readonly value: string;
  readonly request_count: number;
  readonly cost: string;
};
type HistoryRow = {
  readonly request_id: string;
  readonly cost: string;
  readonly tags?: Record<string, string>;
};

let owner: Seeded;
let manager: string;
beforeEach(async () => {
  owner = await router().seed();
  manager = (await router().app.managementKeys.create(owner.account, randomUUID(), SCOPES)).secret;
  router().scripted[0]?.scripts.clear();
});

function script(handle: Parameters<Map<string, typeof good>["set"]>[1]): void {
  router().scripted[0]?.scripts.set(MODEL, handle);
}

async function chat(tags: string | undefined, body: object = {}, headers: Record<string, string> = {}) {
  const tag = tags === undefined ? {} : { "x-tag": tags };
  const reply = await router().chat(owner, { model: MODEL, max_tokens: 20, ...body }, { ...tag, ...headers });
  return { status: reply.status, text: await reply.text(), headers: reply.headers };
}

async function read<T>(path: string): Promise<T> {
  const { status, body } = await rest<{ data: T }>(router().origin, path, manager);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.data;
}

const byTag = (query = "") => read<readonly TagRow[]>(`/v1/account/usage/tags?${query}`);
const history = (tag = "") =>
  read<readonly HistoryRow[]>(
    `/v1/account/usage/history?limit=100${tag && `&tag=${encodeURIComponent(tag)}`}`,
  );
const rollUp = () =>
  new UsageRollups({ database: router().app.database, log: createLogger("silent") }).sweep(1);

async function createBudget(body: object) {
  return rest<Record<string, string> & RestFailure>(router().origin, "/v1/tag-budgets", manager, { body });
}

async function tagsOfLast(): Promise<Readonly<Record<string, string>> | undefined> {
  return (await router().app.requests.list(owner.account, { first: 1 })).rows[0]?.tags;
}

/** A whole answer, one that the provider cuts short, one whose client leaves, and one that fails. */
async function endInFourWays(tags: string): Promise<void> {
  script(good);
  expect((await chat(tags)).status).toBe(200);
  script(async (_, response) => {
    await trickle(openStream(response), events().slice(0, 4));
    await breakOff(response);
  });
  await chat(tags, { stream: true });
  script(async (_, response) => {
    await trickle(openStream(response), events().slice(0, 3));
  });
  const left = new AbortController();
  const reply = await fetch(`${router().origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${owner.secret}`,
      "content-type": "application/json",
      "x-tag": tags,
    },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: 20,
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    }),
    signal: left.signal,
  });
  await reply.body?.getReader().read();
  left.abort();
  script((_, response) => sendJson(response, 400, { error: { message: "no", code: "bad" } }));
  expect((await chat(tags)).status).toBeGreaterThanOrEqual(400);
  await until(async () => {
    const { rows } = await router().app.requests.list(owner.account, { first: 100 });
    expect(rows.map(({ status }) => status)).toHaveLength(4);
    expect(rows.every(({ status }) => status !== "running")).toBe(true);
  });
}

describe.each([["without a budget"], ["with a budget"]])("spending by tag %s", (which) => {
  test("is exact in all four endings, before and after it is added up, and in the ledger", async () => {
    const { app, origin } = router();
    const limit = { name: "team", value: "search", credit_limit: "1" };
    if (which === "with a budget") expect((await createBudget(limit)).status).toBe(201);
    await endInFourWays("team=search, env=prod");
    const { rows } = await app.requests.list(owner.account, { first: 100 });
    expect(rows.map(({ status }) => status).toSorted()).toEqual(["aborted", "completed", "failed", "failed"]);
    const spent = rows.reduce((sum, { cost }) => sum + (cost?.total ?? 0n), 0n);
    const billed = rows.filter(({ cost }) => cost !== null && cost.total > 0n).length;
    expect(billed).toBe(3);
    const { rows: ledger } = {
      rows: await app.database.rows<{ paid: string }>(
        "select sum(amount)::text as paid from ledger_transfer where account = $1 and to_book = 'revenue'",
        [owner.account],
      ),
    };
    expect(ledger[0]?.paid).toBe(String(spent));
    script(good);
    await chat(undefined);
    await chat("team=ads");
    for (const _ of ["pending", "added up"]) {
      const rows = await byTag();
      expect(rows.filter(({ value }) => value !== "ads")).toMatchObject([
        { name: "env", value: "prod", request_count: billed, cost: String(spent) },
        { name: "team", value: "search", request_count: billed, cost: String(spent) },
      ]);
      expect(rows).toHaveLength(3);
      expect(await byTag("name=team")).toHaveLength(2);
      const listed = await history("team=search");
      expect(listed.map(({ tags }) => tags)).toEqual(Array(billed).fill({ env: "prod", team: "search" }));
      expect(listed.reduce((sum, { cost }) => sum + BigInt(cost), 0n)).toBe(spent);
      expect(await history("team=none")).toEqual([]);
      const stats = await rest(origin, "/v1/account/usage/stats?tag=env%3Dprod", manager);
      expect(stats.body).toMatchObject({ total_requests: billed, total_cost: String(spent) });
      const days = await read<readonly { cost: string }[]>("/v1/account/usage/daily?tag=team%3Dsearch");
      expect(days.reduce((sum, { cost }) => sum + BigInt(cost), 0n)).toBe(spent);
      await rollUp();
    }
    const stored = await byTag();
    const rollups = new UsageRollups({ database: app.database, log: createLogger("silent") });
    await rollups.rebuild();
    expect(await byTag()).toEqual(stored);
    const budgets = await read<readonly object[]>("/v1/tag-budgets");
    expect(budgets).toMatchObject(
      which === "with a budget" ? [{ used: formatToken(spent), held: "0", credit_limit: "1" }] : [],
    );
  });
});

test("the graph takes tags, shows them, filters by them and sums by them", async () => {
  const { origin, app } = router();
  const chatOf = (tags: string, options = "{}") =>
    ask(
      origin,
      owner.secret,
      `mutation ($options: JSON) { completeChat(input: { model: "${MODEL}", maxTokens: 20, options: $options, tags: ${tags},
        messages: [{ role: "user", content: "hi" }] }) { completion { bill { requestId } } userErrors { field code message } } }`,
      { options: JSON.parse(options) },
    );
  const made = await chatOf(
    `[{ name: "team", value: "search" }]`,
    `{ "metadata": { "team": "lost", "user": "7" } }`,
  );
  const { requestId } = made.data.completeChat.completion.bill;
  await chatOf(`[{ name: "team", value: "ads" }]`);
  await chatOf("[]");
  await until(async () => (await history()).length === 3);
  const query = `query ($tag: TagInput!) { viewer { account {
    requests(first: 5, filter: { tag: $tag }) { nodes { requestId tags { name value } } }
    usage(tag: $tag) { stats { requestCount } history(first: 5) { nodes { tags { name value } } } }
    all: usage {
      tags(name: "team") { tag { name value } stats { requestCount } }
      buckets(by: DAY, groupBy: [TAG, MODEL], tagName: "team") { tag { name value } modelId stats { requestCount } }
    } } } }`;
  const tags = [
    { name: "team", value: "search" },
    { name: "user", value: "7" },
  ];
  const tag = { name: "team", value: "search" };
  const values = [{ name: "team", value: "ads" }, tag];
  for (const _ of ["pending", "added up"]) {
    const { data, errors } = await ask(origin, manager, query, { tag });
    expect(errors).toBeUndefined();
    const { requests, usage, all } = data.viewer.account;
    expect(requests.nodes).toEqual([{ requestId, tags }]);
    expect(usage).toEqual({ stats: { requestCount: "1" }, history: { nodes: [{ tags }] } });
    expect(all.tags).toEqual(values.map((one) => ({ tag: one, stats: { requestCount: "1" } })));
    expect(all.buckets).toEqual(
      values.map((one) => ({ tag: one, modelId: MODEL, stats: { requestCount: "1" } })),
    );
    await rollUp();
  }
  for (const [groups, name] of [
    ["[TAG]", "null"],
    ["[MODEL]", `"team"`],
  ]) {
    const { errors } = await ask(
      origin,
      manager,
      `{ viewer { account { usage { buckets(by: DAY, groupBy: ${groups}, tagName: ${name}) { startsAt } } } } }`,
    );
    expect(errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter" });
  }
  const twice = await chatOf(`[{ name: "a", value: "1" }, { name: "a", value: "2" }]`);
  expect(twice.data.completeChat).toMatchObject({ completion: null, userErrors: [{ field: "tags" }] });
  expect((await app.requests.list(owner.account, { first: 5 })).rows).toHaveLength(3);
});

test("what is wrong with the tag of a budget is named by its member, in REST and in the graph", async () => {
  const query = `mutation ($tag: TagInput!) {
    createTagBudget(input: { tag: $tag, creditLimit: "1" }) { userErrors { code field } } }`;
  const field = async (tag: object) =>
    (await ask(router().origin, manager, query, { tag })).data.createTagBudget.userErrors[0].field;
  for (const [member, tag] of [
    ["name", { name: "a\n", value: "b" }],
    ["name", { name: "__proto__", value: "b" }],
    ["value", { name: "a", value: "b " }],
    ["value", { name: "a", value: "\u202e" }],
  ] as const) {
    const { status, body } = await createBudget({ ...tag, credit_limit: "1" });
    expect({ status, error: body.error }).toMatchObject({ status: 400, error: { param: member } });
    expect(await field(tag)).toBe(`tag.${member}`);
  }
  await createBudget({ name: "a", value: "b", credit_limit: "1" });
  expect(await field({ name: "a", value: "b" })).toBe("tag.value");
});

test("a budget is managed over both APIs, and a request over it is refused, naming the tag and the limit", async () => {
  const { origin } = router();
  const created = await createBudget({
    name: "team",
    value: "search",
    credit_limit: 0,
    reset_period: "daily",
  });
  expect(created).toMatchObject({
    status: 201,
    body: { name: "team", value: "search", credit_limit: "0", used: "0", reset_period: "daily" },
  });
  const refused = await chat("team=search");
  expect(refused.status).toBe(402);
  expect(JSON.parse(refused.text).error).toMatchObject({
    code: "credit_limit_exceeded",
    message: "The budget of the tag team=search does not cover this request: 0 of 0 is left.",
  });
  expect((await chat("team=ads")).status).toBe(200);
  const path = `/v1/tag-budgets/${created.body.budget_id}`;
  const raised = await rest(origin, path, manager, { method: "PATCH", body: { credit_limit: "0.5" } });
  expect(raised.body).toMatchObject({ credit_limit: "0.5", reset_period: "daily" });
  expect((await chat("team=search")).status).toBe(200);
  const twice = await createBudget({ name: "team", value: "search", credit_limit: "1" });
  expect(twice).toMatchObject({
    status: 409,
    body: { error: { code: "duplicate_tag_budget", param: "value" } },
  });
  const { data } = await ask(
    origin,
    manager,
    `mutation { updateTagBudget(input: { id: "${created.body.budget_id}", creditLimit: "1" }) {
      tagBudget { tag { name value } creditLimit used } userErrors { code } } }`,
  );
  const [{ cost } = { cost: "" }] = await history("team=search");
  expect(data.updateTagBudget).toEqual({
    tagBudget: { tag: { name: "team", value: "search" }, creditLimit: "1", used: cost },
    userErrors: [],
  });
  expect((await chat("team=search")).status).toBe(402);
  const deleted = await rest(origin, path, manager, { method: "DELETE" });
  expect(deleted.body).toEqual({ budget_id: created.body.budget_id, deleted: true });
  expect((await chat("team=search")).status).toBe(200);
  expect((await rest(origin, path, manager)).status).toBe(404);
  const other = await router().seed();
  const { secret } = await router().app.managementKeys.create(other.account, "other", SCOPES);
  const again = await createBudget({ name: "team", value: "search", credit_limit: "1" });
  for (const method of ["GET", "PATCH", "DELETE"])
    expect(
      (
        await rest(origin, `/v1/tag-budgets/${again.body.budget_id}`, secret, {
          method,
          ...(method === "PATCH" && { body: { credit_limit: "9" } }),
        })
      ).status,
    ).toBe(404);
});

test("200 calls race a budget for 50, and no more are answered", async () => {
  await chat("team=search");
  await until(async () => (await history()).length === 1);
  const [{ cost } = { cost: "0" }] = await history();
  // A hold is larger than the cost, so the last calls that fit are refused while others run.
  const limit = formatToken(BigInt(cost) * 51n);
  expect((await createBudget({ name: "team", value: "search", credit_limit: limit })).status).toBe(201);
  const replies = await Promise.all(Array.from({ length: 200 }, () => chat("team=search")));
  const answered = replies.filter(({ status }) => status === 200).length;
  expect(replies.every(({ status }) => status === 200 || status === 402)).toBe(true);
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(50);
  await until(async () => (await history("team=search")).length === answered + 1);
  const [budget] = await read<readonly Record<string, string>[]>("/v1/tag-budgets");
  expect(budget).toMatchObject({ used: formatToken(BigInt(cost) * BigInt(answered + 1)), held: "0" });
});

test("a repeated call with the same Idempotency-Key counts once", async () => {
  await createBudget({ name: "team", value: "search", credit_limit: "1" });
  const key = { "idempotency-key": randomUUID() };
  const first = await chat("team=search", {}, key);
  const second = await chat("team=search", {}, key);
  expect(second).toMatchObject({ status: 200, text: first.text });
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  const [row, ...others] = await byTag();
  expect(others).toEqual([]);
  expect(row?.request_count).toBe(1);
  const [budget] = await read<readonly Record<string, string>[]>("/v1/tag-budgets");
  expect(budget).toMatchObject({ used: formatToken(BigInt(row?.cost ?? "0")), held: "0" });
});

describe("the header X-Tag", () => {
  const long = (length: number) => "a".repeat(length);

  test.each([
    ["one tag", "team=search", { team: "search" }],
    ["several, with spaces and empty parts", " a=1 ,, b = 2,", { a: "1", b: "2" }],
    ["an equals sign in a value", "a=b=c", { a: "b=c" }],
    ["percent-encoding", "t%C3%A9am=M%C3%BCller%2C%20K%3D1", { téam: "Müller, K=1" }],
    [
      "names of objects' members",
      "constructor=1, toString=2, hasOwnProperty=3",
      { constructor: "1", toString: "2", hasOwnProperty: "3" },
    ],
    ["the longest", `${long(64)}=${long(512)}`, { [long(64)]: long(512) }],
    [
      "ten",
      Array.from({ length: 10 }, (_, n) => `t${n}=${n}`).join(),
      Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`t${n}`, `${n}`])),
    ],
    ["nothing", " , ", {}],
  ])("is read: %s", async (_what, text, tags) => {
    expect((await chat(text)).status).toBe(200);
    await until(async () => expect(await tagsOfLast()).toEqual(tags));
  });

  test.each([
    ["no value", "team"],
    ["an empty value", "team="],
    ["an empty name", "=search"],
    ["a name twice", "a=1,a=2"],
    ["a name twice, encoded", "a=1,%61=2"],
    ["eleven", Array.from({ length: 11 }, (_, n) => `t${n}=${n}`).join()],
    ["a name of 65 bytes", `${long(65)}=1`],
    ["a name of 66 bytes in 33 characters", `${"%C3%A9".repeat(33)}=1`],
    ["a value of 513 bytes", `a=${long(513)}`],
    ["a line break", "a=b%0D%0AX-Evil:%201"],
    ["a null", "a=b%00"],
    ["a direction override", "a=b%E2%80%AEc"],
    ["a space at the end", "a=b%20"],
    ["__proto__", "__proto__=1"],
    ["invalid UTF-8", "a=%C3"],
    ["half of a surrogate pair", "a=%ED%A0%80"],
    ["a percent sign alone", "a=100%"],
    ["a byte that is not ASCII", "a=caf\u00e9"],
  ])("is refused before a charge: %s", async (_what, text) => {
    const calls = router().scripted[0]?.calls.length ?? 0;
    const { status, text: answer } = await chat(text);
    expect({ status, answer }).toMatchObject({ status: 400 });
    expect(JSON.parse(answer).error).toMatchObject({ code: "invalid_parameter", param: "X-Tag" });
    expect(await tagsOfLast()).toBeUndefined();
    expect(router().scripted[0]?.calls).toHaveLength(calls);
  });

  test("may be repeated, and takes precedence over metadata", async () => {
    const body = JSON.stringify({
      ...{ model: MODEL, max_tokens: 5, messages: [{ role: "user", content: "hi" }] },
      metadata: { team: "ads", user: "7" },
    });
    const { hostname, port } = new URL(router().origin);
    const socket = connect(Number(port), hostname);
    socket.write(
      [
        "POST /v1/chat/completions HTTP/1.1",
        ...["Host: localhost", "Connection: close", "Content-Type: application/json"],
        ...[`Authorization: Bearer ${owner.secret}`, "X-Tag: team=search", "x-tag: env=prod"],
        ...[`Content-Length: ${Buffer.byteLength(body)}`, "", body],
      ].join("\r\n"),
    );
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    expect(Buffer.concat(parts).toString()).toContain("HTTP/1.1 200");
    await until(async () => expect(await tagsOfLast()).toEqual({ team: "search", env: "prod", user: "7" }));
  });
});

describe("metadata", () => {
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, `${n}`]));

  test.each([
    ["the first ten of sixteen", pairs(16), pairs(10)],
    ["those that can be tags", { "": "a", b: "", c: "d\n", e: "f", g: "é".repeat(300) }, { e: "f" }],
    ["none of null", null, {}],
  ])("has the tags of a chat and of a response: %s", async (_what, metadata, tags) => {
    expect((await chat(undefined, { metadata })).status).toBe(200);
    await until(async () => expect(await tagsOfLast()).toEqual(tags));
    const response = await rest(router().origin, "/v1/responses", owner.secret, {
      body: { model: MODEL, input: "hi", max_output_tokens: 20, metadata },
    });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ metadata: metadata ?? {} });
    await until(async () => {
      const { rows } = await router().app.requests.list(owner.account, { first: 5 });
      expect(rows.map((row) => row.tags)).toEqual([tags, tags]);
    });
  });

  test.each([
    ["seventeen pairs", pairs(17), "metadata"],
    ["a value that is no text", { a: 1 }, "metadata.a"],
    ["a value of 513 characters", { a: "b".repeat(513) }, "metadata.a"],
    ["a name of 65 characters", { ["a".repeat(65)]: "b" }, `metadata.${"a".repeat(65)}`],
    ["a list", ["a"], "metadata"],
  ])("is refused beyond OpenAI's limits: %s", async (_what, metadata, param) => {
    for (const path of ["/v1/chat/completions", "/v1/responses"]) {
      const input = path.endsWith("responses")
        ? { input: "hi" }
        : { messages: [{ role: "user", content: "hi" }] };
      const body = { model: MODEL, metadata, ...input };
      const reply = await rest<RestFailure>(router().origin, path, owner.secret, { body });
      expect(reply).toMatchObject({ status: 400, body: { error: { code: "invalid_body", param } } });
    }
    const twice = `{"model":"${MODEL}","messages":[{"role":"user","content":"hi"}],"metadata":{"a":"1","a":"2"}}`;
    expect((await rest(router().origin, "/v1/chat/completions", owner.secret, { body: twice })).status).toBe(
      400,
    );
    expect(await tagsOfLast()).toBeUndefined();
  });
});

test("an answer is the same with tags as without", async () => {
  script((_, response) => sendJson(response, 200, completion()));
  const [plain, tagged] = [await chat(undefined), await chat("team=search")];
  const shape = ({ text }: { text: string }) => Object.keys(JSON.parse(text));
  expect(shape(tagged)).toEqual(shape(plain));
});
