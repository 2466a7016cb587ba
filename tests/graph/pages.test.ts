// @module-tag large
import { readFileSync } from "node:fs";
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
  isInputObjectType,
} from "graphql";
import { describe, expect, test } from "vitest";
import { encodeCursor } from "../../src/kernel/page.ts";
import { pageOf } from "../../subgraphs/shared/schema/connection.ts";
import { CursorScalar } from "../../subgraphs/shared/schema/scalars.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask } from "../support/clients/graph-client.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
useServices(stack, ["messages", "images", "embeddings"]);

const PAGE =
  "{ nodes { requestId } totalCount totalCountEstimated pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }";

const TYPES: Readonly<Record<string, string>> = {
  after: "Cursor",
  before: "Cursor",
  filter: "RequestFilterInput",
};

async function chat({ secret }: Seeded, maxTokens: number): Promise<string> {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: "user", content: "hi" }],
      max_tokens: maxTokens,
    }),
  });
  expect(reply.status).toBe(200);
  await reply.arrayBuffer();
  return reply.headers.get("x-request-id") ?? "";
}

type List = {
  /** The list and its order, in its cursors. */
  readonly name: string;
  /** The fields around it. */
  readonly within: string;
  readonly field: string;
  readonly args?: string;
  /** The sort key of a row. */
  readonly key: readonly string[];
};

const ID = "d425ea48-2b3a-4173-8dee-4c4f01387b5d";
const TIME = "2026-11-25T15:09:04.611Z";
const ofAccount = (field: string, name: string, ...key: readonly string[]): List => ({
  ...{ name, within: "viewer { account {", field, key },
});
const ofQuery = (field: string, name: string, ...key: readonly string[]): List => ({
  ...{ name, within: "", field, key },
});

const LISTS: readonly List[] = [
  ofAccount("deposits", "deposits", TIME.replace("Z", "000Z"), ID),
  ofAccount("apiKeys", "api-key", TIME, ID),
  ofAccount("managementKeys", "management-key", TIME, ID),
  ofAccount("agentTokens", "agent-tokens", "7", "1"),
  ofAccount("sealedKeys", "sealed-keys", "7", "1"),
  ofAccount("marketFills", "market-fills", "7", "1"),
  ofAccount("marketMoves", "market-moves", "7", "1"),
  ofAccount("requests", "requests-by-created-desc", TIME, ID),
  {
    ...ofAccount("requests", "requests-by-cost-asc", "5", TIME, ID),
    args: "orderBy: { field: COST, direction: ASC },",
  },
  {
    ...ofAccount("requests", "requests-by-cost-desc", "5", TIME, ID),
    args: "orderBy: { field: COST, direction: DESC },",
  },
  {
    ...ofAccount("requests", "requests-by-created-asc", TIME, ID),
    args: "orderBy: { field: CREATED, direction: ASC },",
  },
  ofAccount("tagBudgets", "tag-budgets", "a"),
  ofAccount("webhooks", "webhooks", "a"),
  ofAccount("submissions", "submissions", "7"),
  ofAccount("files", "files", "7"),
  { ...ofAccount("history", "account-usage", "7"), within: "viewer { account { usage {" },
  {
    ...ofQuery("agentTokenHistory", "token-events", "7"),
    args: `contract: "0x${"1".repeat(40)}", tokenId: 1,`,
  },
  ofQuery("agentTokens", "agent-tokens", "7", "1"),
  { ...ofQuery("sealedKeys", "sealed-keys", "7", "1"), args: `to: "0x${"1".repeat(40)}",` },
  ofQuery("imageJobs", "image-jobs", TIME, ID),
  ofQuery("batches", "batch-jobs", TIME, ID),
  ofQuery("files", "files", "7"),
  ofQuery("inferenceServices", "inference-services", "a"),
  ofQuery("kvStreams", "kv-streams", ID),
  ofQuery("models", "models-by-key-asc", "a"),
  { ...ofQuery("models", "models-by-price-asc", "a"), args: "orderBy: { field: PRICE, direction: ASC }," },
  { ...ofQuery("models", "models-by-key-desc", "a"), args: "orderBy: { field: KEY, direction: DESC }," },
  ofQuery("providers", "providers-by-key-asc", "a"),
  {
    ...ofQuery("providers", "providers-by-context-asc", "a"),
    args: "orderBy: { field: CONTEXT, direction: ASC },",
  },
];

/** A secret that reads everything of a new account but its `mk-` keys. */
async function openReader(): Promise<string> {
  const { database, managementKeys } = stack().app;
  const owner = await seedAccount(database, 1n);
  return (await managementKeys.create(owner.account, "reader", ["account:read", "keys:read"])).secret;
}

/** The errors of the pages after and before a cursor. */
function readBeyond({ within, field, args = "" }: List, cursor: string, secret: string) {
  return Promise.all(
    [`first: 1, after: "${cursor}"`, `last: 1, before: "${cursor}"`].map(async (place) => {
      const end = "}".repeat(within.split("{").length - 1);
      const query = `{ ${within} ${field}(${args} ${place}) { pageInfo { endCursor } } ${end} }`;
      const { errors = [] } = await ask(stack().origin, secret, query);
      return errors;
    }),
  );
}

describe("a list of the graph", () => {
  test("is paged from both ends, filtered, ordered and counted", async () => {
    const owner = await seedAccount(stack().app.database, 10n ** 12n);
    const { secret } = await stack().app.managementKeys.create(owner.account, "reader", ["account:read"]);
    const ids: string[] = [];
    // Costs rise and fall, so that the two orders differ.
    for (const tokens of [4, 9, 2, 7, 5]) ids.unshift(await chat(owner, tokens));
    const list = async (args: string, variables: object = {}) => {
      const used = Object.keys(variables).map((name) => `$${name}: ${TYPES[name]}`);
      const query = `query ${used.length > 0 ? `(${used})` : ""} {
        viewer { account { requests(${args}) ${PAGE} } } }`;
      const { data, errors } = await ask(stack().origin, secret, query, variables);
      expect(errors).toBeUndefined();
      const { nodes, ...rest } = data.viewer.account.requests;
      return { ids: nodes.map(({ requestId }: { requestId: string }) => requestId), ...rest };
    };
    const newest = await list("first: 2");
    expect(newest).toMatchObject({
      ids: ids.slice(0, 2),
      totalCount: 5,
      totalCountEstimated: false,
      pageInfo: { hasNextPage: true, hasPreviousPage: false },
    });
    const next = await list("first: 2, after: $after, last: null, before: null", {
      after: newest.pageInfo.endCursor,
    });
    expect(next.ids).toEqual(ids.slice(2, 4));
    expect(next.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    const back = await list("last: 2, before: $before", { before: next.pageInfo.startCursor });
    expect(back.ids).toEqual(newest.ids);
    expect(back.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    expect((await list("last: 3")).ids).toEqual(ids.slice(2));

    const byCost = "orderBy: { field: COST, direction: DESC }";
    const mostExpensive = await list(`first: 2, ${byCost}`);
    expect(mostExpensive.ids).toEqual([ids[3], ids[1]]);
    const cheaper = await list(`first: 3, after: $after, ${byCost}`, {
      after: mostExpensive.pageInfo.endCursor,
    });
    expect(cheaper.ids).toEqual([ids[0], ids[4], ids[2]]);
    const filter = {
      statuses: ["COMPLETED"],
      modelId: MODEL,
      apiKeyId: owner.keyId,
      requestIdPrefix: "req-",
    };
    expect(await list("first: 5, filter: $filter", { filter })).toMatchObject({ ids, totalCount: 5 });
    const failed = { ...filter, statuses: ["FAILED", "ABORTED"] };
    expect(await list("filter: $filter", { filter: failed })).toMatchObject({ ids: [], totalCount: 0 });
  });

  test.each([
    ["first: 1, last: 1", "invalid_parameter", "last"],
    ["before: $cursor", "invalid_parameter", "before"],
    ["last: 1, after: $cursor", "invalid_parameter", "after"],
    ["last: 0", "invalid_parameter", "last"],
    ["first: 101", "invalid_parameter", "first"],
    ["last: 1, before: $cursor", "invalid_cursor", "before"],
    ["first: 1, after: $cursor", "invalid_cursor", "after"],
    ['last: 1, before: "!!"', "invalid_cursor", "before"],
    ['first: 1, after: ""', "invalid_cursor", "after"],
  ])("refuses (%s) and names the argument", async (args, code, param) => {
    const cursor = args.includes("$cursor") ? "($cursor: Cursor)" : "";
    const query = `query ${cursor} { models(${args}) { totalCount } }`;
    const { errors } = await ask(stack().origin, undefined, query, { cursor: "bm90LW91cnM" });
    expect(errors).toMatchObject([{ extensions: { code, param } }]);
  });

  test.each([
    [
      "providers",
      "Provider",
      "address",
      "pricing { input output } serviceType trustMode profile { contextLength }",
    ],
    ["models", "Model", "modelId", "pricing { input output } serviceType profile { contextLength }"],
  ])("of %s is filtered and ordered", async (list, type, key, fields) => {
    type Row = {
      serviceType: string;
      pricing: { input: string; output: string };
      profile: { contextLength: number | null };
    };
    const read = async (args: string, variables: object = {}) => {
      const declared = `query ($filter: ${type}FilterInput, $orderBy: ${type}OrderInput, $after: Cursor)`;
      const selection = `{ totalCount nodes { ${key} ${fields} } pageInfo { endCursor hasNextPage } }`;
      const query = `${declared} { ${list}(filter: $filter, orderBy: $orderBy, after: $after, ${args}) ${selection} }`;
      const { data, errors } = await ask(stack().origin, undefined, query, variables);
      expect(errors).toBeUndefined();
      return data[list] as { totalCount: number; nodes: Row[]; pageInfo: { endCursor: string } };
    };
    const { nodes: all } = await read("first: 100");
    expect(all.length).toBeGreaterThan(2);
    const price = ({ pricing }: Row) => BigInt(pricing.input) + BigInt(pricing.output);
    const mostExpensive = { orderBy: { field: "PRICE", direction: "DESC" } };
    const prices = (await read("first: 100", mostExpensive)).nodes.map(price);
    expect(prices).toEqual(all.map(price).toSorted((one, other) => (one < other ? 1 : one > other ? -1 : 0)));
    const paged: Row[] = [];
    for (let after: string | null = null; paged.length < all.length; ) {
      const page = await read("first: 1", { ...mostExpensive, after });
      paged.push(...page.nodes);
      after = page.pageInfo.endCursor;
    }
    expect(paged.map(price)).toEqual(prices);
    const chats = await read("first: 100", { filter: { serviceTypes: ["CHATBOT"] } });
    expect(chats.nodes).toEqual(all.filter(({ serviceType }) => serviceType === "CHATBOT"));
    expect(chats.totalCount).toBe(chats.nodes.length);
    const middle = BigInt(all[1]?.pricing.input ?? 0);
    const cheap = await read("first: 100", { filter: { maxInputPrice: `${middle}` } });
    expect(cheap.nodes.length).toBeGreaterThan(0);
    expect(cheap.nodes).toEqual(all.filter(({ pricing }) => BigInt(pricing.input) <= middle));
    const long = { filter: { minContextLength: 100_000, apiFormat: "ANTHROPIC" } };
    expect((await read("first: 5", long)).nodes).toEqual(all.filter((row) => price(row) === 18n));
    const published = all.filter(({ profile }) => profile.contextLength !== null);
    expect(published.length).toBeLessThan(all.length);
    const any = await read("first: 100", { filter: { minContextLength: 0 } });
    expect(any.nodes).toEqual(published);
    const none = { filter: { minContextLength: 2_000_000_000, apiFormat: "OPENAI", trustModes: [] } };
    expect((await read("first: 5", none)).nodes).toEqual([]);
  });

  test.each([
    // A cursor of `kvEntries` names a stored entry, so that no made-up one is accepted.
    ["Query", "", ["kvEntries"]],
    ["Account", "viewer { account {", []],
  ])("of %s is among those whose cursors are compared below", (type, within, others) => {
    const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
    const fields = Object.values((schema.getType(type) as GraphQLObjectType).getFields());
    const paged = fields.filter(({ args }) => args.some(({ name }) => name === "after"));
    const listed = LISTS.filter((list) => list.within === within).map(({ field }) => field);
    expect(paged.map(({ name }) => name).toSorted()).toEqual([...new Set([...listed, ...others])].toSorted());
    for (const { name, field } of LISTS)
      expect(
        LISTS.filter((other) => other.name === name).every((other) => other.field === field),
        name,
      ).toBe(true);
  });

  test("answers a made-up cursor of its own without an internal error", async () => {
    const secret = await openReader();
    const times = [
      "+275760-09-13T00:00:00.000Z",
      "0000-01-01T00:00:00.000Z",
      "2026-02-31T00:00:00.000Z",
      "5",
    ];
    const made: readonly (readonly string[])[] = [
      ...times.flatMap((time) => [
        [time, ID],
        ["1", time, ID],
        [`${time}`.replace("000Z", "000000Z"), ID],
      ]),
      ...[["2026-11-25T15:09:04.611Z", "x"], ["2026-11-25T15:09:04.611Z", "\u0000"], ["5", "0"], ["5"]],
      ...[["9".repeat(78), "2026-11-25T15:09:04.611Z", "\u0000"], ["9".repeat(19)], ["\u0000"], []],
      ...[["-1", "-1"], ["9".repeat(18), "9".repeat(9)], ["9".repeat(20)], ["1e9"]],
    ];
    const failures: string[] = [];
    for (const list of LISTS)
      for (const key of made)
        for (const errors of await readBeyond(list, encodeCursor(list.name, ...key), secret)) {
          const expected = ["invalid_cursor", "insufficient_scope"];
          if (errors.some(({ extensions }) => !expected.includes(extensions?.code ?? "")))
            failures.push(`${list.name} ${key}: ${JSON.stringify(errors)}`);
        }
    expect(failures).toEqual([]);
  });

  test("refuses the cursor of every other list and order, and takes its own", async () => {
    const secret = await openReader();
    const wrong: string[] = [];
    for (const list of LISTS.filter(({ name }) => name !== "management-key"))
      for (const of of LISTS)
        for (const errors of await readBeyond(list, encodeCursor(of.name, ...of.key), secret)) {
          const faults = errors.map(({ message, extensions }) => `${extensions?.code}: ${message}`).join();
          const refusal = "invalid_cursor: This is not a cursor of this list in this order.";
          if (faults !== (of.name === list.name ? "" : refusal))
            wrong.push(`${list.name} with a cursor of ${of.name}: ${faults}`);
        }
    expect(wrong).toEqual([]);
  });

  test.each([
    ["0000-01-01T00:00:00Z", false],
    ["0001-01-01T00:00:00+00:01", false],
    ["9999-12-31T23:59:59.999-00:01", false],
    ["2026-02-31T00:00:00Z", false],
    ["0001-01-01T00:00:00Z", true],
    ["9999-12-31T23:59:59.999Z", true],
  ])("that is filtered by the time %s is answered, or the time is refused", async (time, isTime) => {
    const owner = await seedAccount(stack().app.database, 1n);
    const { secret } = await stack().app.managementKeys.create(owner.account, "reader", ["account:read"]);
    const query = `query ($time: DateTime) { viewer { account {
      from: requests(filter: { createdAt: { from: $time } }) { totalCount }
      before: requests(filter: { createdAt: { before: $time } }) { totalCount }
      usage(from: $time) { stats { requestCount } buckets(by: MONTH) { startsAt } }
    } } }`;
    const { errors } = await ask(stack().origin, secret, query, { time });
    expect(errors?.map(({ extensions }) => extensions?.code)).toEqual(
      isTime ? undefined : ["invalid_parameter"],
    );
  });

  test("refuses every range that ends before it starts, and takes one of a single value", async () => {
    const secret = await openReader();
    const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
    const values: Readonly<Record<string, readonly string[]>> = {
      DateTime: ["2026-11-25T15:09:04.611Z", "2026-11-25T15:09:04.612Z"],
      BigInt: ["9", "10"],
      Neuron: ["9", "10"],
    };
    const seen: string[] = [];
    for (const [parent, before, after] of [
      ["Query", "", ""],
      ["Account", "viewer { account {", "} }"],
    ] as const)
      for (const field of Object.values((schema.getType(parent) as GraphQLObjectType).getFields()))
        for (const range of rangesOf(field)) {
          const [low, high] = values[range.type] ?? [];
          const read = async (start: unknown, end: unknown) => {
            const sent = `${range.start}: "${start}", ${range.end}: "${end}"`;
            const args = range.of ? `filter: { ${range.of}: { ${sent} } }` : sent;
            const selected = range.of ? "totalCount" : "stats { requestCount }";
            const query = `{ ${before} ${field.name}(${args}) { ${selected} } ${after} }`;
            return (await ask(stack().origin, secret, query)).errors?.map(
              ({ extensions }) => extensions?.param,
            );
          };
          const name = `${range.of ? `filter.${range.of}.` : ""}${range.end}`;
          expect([field.name, await read(high, low)]).toEqual([field.name, [name]]);
          expect([field.name, await read(low, low)]).toEqual([field.name, undefined]);
          seen.push(`${field.name} ${name}`);
        }
    expect(seen.length).toBeGreaterThan(6);
  });

  test("over REST takes the first and the last day", async () => {
    const owner = await seedAccount(stack().app.database, 1n);
    const { secret } = await stack().app.managementKeys.create(owner.account, "reader", [
      "account:read",
      "keys:read",
    ]);
    const read = (path: string) =>
      fetch(`${stack().origin}/v1/${path}`, { headers: { authorization: `Bearer ${secret}` } });
    for (const [query, status] of [
      ["start_date=0001-01-01&end_date=9999-12-31", 200],
      ["end_date=9999-12-30", 200],
      ["start_date=0000-01-01", 400],
      ["start_date=2026-02-31", 400],
    ] as const)
      for (const kind of ["stats", "daily", "history"])
        expect((await read(`account/usage/${kind}?${query}`)).status, `${kind} ${query}`).toBe(status);
    const foreign = encodeCursor("requests", "2026-11-25T15:09:04.611Z", "x");
    for (const path of ["api-keys", "management-keys", "async/jobs"])
      expect((await read(`${path}?cursor=${foreign}`)).status, path).toBe(
        path === "management-keys" ? 403 : 400,
      );
  });

  test("continues after a cursor with a name of 500 characters", () => {
    const names = ["a", "b".repeat(500), "\u{1F600}".repeat(250), "d"].toSorted();
    const args = { first: 1, after: null as string | null, last: null, before: null };
    const seen: string[] = [];
    const read = () => pageOf("names", names, args, (name) => name);
    for (let page = read(); ; page = read()) {
      seen.push(...page.nodes);
      if (!page.pageInfo.hasNextPage) break;
      args.after = CursorScalar.parseValue(page.pageInfo.endCursor) as string;
    }
    expect(seen).toEqual(names);
  });

  test("that is in memory is paged from its end, and counted", async () => {
    const query = (args: string) =>
      `{ models(${args}) { totalCount nodes { modelId } pageInfo { hasNextPage hasPreviousPage startCursor } } }`;
    const all = (await ask(stack().origin, undefined, query("first: 100"))).data.models;
    const names = all.nodes.map(({ modelId }: { modelId: string }) => modelId);
    expect(all.totalCount).toBe(names.length);
    const last = (await ask(stack().origin, undefined, query("last: 1"))).data.models;
    expect(last.nodes).toEqual([{ modelId: names.at(-1) }]);
    expect(last.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: names.length > 1 });
    const before = (
      await ask(stack().origin, undefined, query(`last: 100, before: "${last.pageInfo.startCursor}"`))
    ).data.models;
    expect(before.nodes.map(({ modelId }: { modelId: string }) => modelId)).toEqual(names.slice(0, -1));
  });
});

type Range = { readonly of?: string; readonly start: string; readonly end: string; readonly type: string };

/** The ranges that a field takes: as arguments of its own, or in its `filter`. */
function rangesOf({ args }: GraphQLField<unknown, unknown>): readonly Range[] {
  const rangeIn = (members: readonly (GraphQLArgument | GraphQLInputField)[]): Range | undefined => {
    for (const [start, end] of [
      ["from", "before"],
      ["min", "max"],
    ] as const) {
      const first = members.find(({ name }) => name === start);
      if (first && members.some(({ name }) => name === end)) return { start, end, type: String(first.type) };
    }
    return undefined;
  };
  const own = rangeIn(args);
  const filter = args.find(({ name }) => name === "filter")?.type;
  const members = isInputObjectType(filter) ? Object.values(filter.getFields()) : [];
  const filtered = members.flatMap(({ name, type }) => {
    const range = isInputObjectType(type) && rangeIn(Object.values(type.getFields()));
    return range ? [{ ...range, of: name }] : [];
  });
  return own ? [own, ...filtered] : filtered;
}
