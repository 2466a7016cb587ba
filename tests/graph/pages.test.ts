import { describe, expect, test } from "vitest";
import { MODEL } from "../support/chain/network.ts";
import { ask } from "../support/clients/graph-client.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

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
    const dearest = await list(`first: 2, ${byCost}`);
    expect(dearest.ids).toEqual([ids[3], ids[1]]);
    const cheaper = await list(`first: 3, after: $after, ${byCost}`, { after: dearest.pageInfo.endCursor });
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
  ])("refuses (%s) and names the argument", async (args, code, param) => {
    const cursor = args.includes("$cursor") ? "($cursor: Cursor)" : "";
    const query = `query ${cursor} { models(${args}) { totalCount } }`;
    const { errors } = await ask(stack().origin, undefined, query, { cursor: "bm90LW91cnM" });
    expect(errors).toMatchObject([{ extensions: { code, param } }]);
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
