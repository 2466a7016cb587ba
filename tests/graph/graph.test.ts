import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { flowAbi } from "../../src/chain/abi/flow.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../src/devnet/chain/actors.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { sealPrincipal } from "../../subgraphs/shared/principal-token.ts";
import { MODEL } from "../support/chain/network.ts";
import {
  ask,
  type Following,
  followEvents,
  followSocket,
  isRouted,
} from "../support/clients/graph-client.ts";
import { untilPublished } from "../support/events.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const ends: (() => Promise<unknown>)[] = [];
let remote: Awaited<ReturnType<typeof startRemoteGateway>>;

beforeAll(async () => {
  remote = await startRemoteGateway(stack(), (end) => void ends.unshift(end));
});
afterAll(async () => {
  for (const end of ends) await end();
});

type Owner = Seeded & { readonly management: string };

async function owner(neuron = 1_000_000n): Promise<Owner> {
  const seeded = await seedAccount(stack().app.database, neuron);
  const scopes = ["account:read", "keys:read"] as const;
  const { secret } = await stack().app.managementKeys.create(seeded.account, "test", scopes);
  await untilPublished(stack().app.database);
  return { ...seeded, management: secret };
}

async function chat({ secret }: Seeded): Promise<string> {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hi" }], max_tokens: 5 }),
  });
  expect(reply.status).toBe(200);
  return ((await reply.json()) as { x_0g_trace: { request_id: string } }).x_0g_trace.request_id;
}

describe.each(["local", "remote"] as const)("the graph over %s subgraphs", (kind) => {
  const origin = () => (kind === "local" ? stack().origin : remote.origin);

  test("a request is joined to its provider's row on chain, its account and the balance there", async () => {
    const who = await owner();
    const id = await chat(who);
    await stack().app.holds.returnUnused();
    const { data, errors } = await ask(
      origin(),
      who.management,
      `query ($id: ID!) { request(id: $id) {
        requestId status inputTokens outputTokens modelId cost { input output total }
        provider { address onChain { inputPrice outputPrice url } models { modelId } }
        account { address balance { total available held } apiKeys { nodes { name status } } }
      } }`,
      { id },
    );
    expect(errors ?? []).toEqual([]);
    const { request } = data;
    expect(request).toMatchObject({
      requestId: id,
      status: "COMPLETED",
      outputTokens: 5,
      modelId: MODEL,
    });
    expect(request.provider.onChain).toMatchObject({ inputPrice: "3", outputPrice: "5" });
    expect(request.provider.models).toEqual([{ modelId: MODEL }]);
    expect(BigInt(request.cost.total)).toBe(BigInt(request.inputTokens) * 3n + 25n);
    expect(request.account.balance).toEqual({
      total: String(1_000_000n - BigInt(request.cost.total)),
      available: String(1_000_000n - BigInt(request.cost.total)),
      held: "0",
    });
    expect(request.account.apiKeys.nodes).toEqual([{ name: "test", status: "ACTIVE" }]);
  });

  test("another account's request is not found, and its own fields are refused", async () => {
    const [mine, theirs] = [await owner(), await owner()];
    const id = await chat(theirs);
    expect(
      (await ask(origin(), mine.management, "query ($id: ID!) { request(id: $id) { id } }", { id })).data,
    ).toEqual({
      request: null,
    });
    const peek = await ask(
      origin(),
      mine.management,
      "query ($a: Address!) { account(address: $a) { balance { total } } }",
      {
        a: theirs.account,
      },
    );
    expect(peek.errors?.[0]?.extensions?.code).toBe("insufficient_scope");
    expect(JSON.stringify(peek.data)).not.toMatch(/\d{3}/);
  });

  test("the viewer is the caller, and only a management key sees its account", async () => {
    const who = await owner();
    const query = "{ viewer { kind scopes account { address } } }";
    const seen = async (secret?: string) => (await ask(origin(), secret, query)).data.viewer;
    expect(await seen()).toEqual({ kind: "ANONYMOUS", scopes: [], account: null });
    expect(await seen(who.secret)).toEqual({ kind: "API_KEY", scopes: [], account: null });
    expect(await seen(who.management)).toMatchObject({
      kind: "MANAGEMENT_KEY",
      scopes: ["ACCOUNT_READ", "KEYS_READ"],
      account: { address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) },
    });
  });

  test("public fields need no credential, and lists are paged by cursor", async () => {
    const { data, errors } = await ask(
      origin(),
      undefined,
      `{ networks { chainId chainIdHex name symbol decimals storageStartBlock daStartBlock faucetPerDay
          contracts { name address } walletParameters }
        network { chainId head { number } watchers { name phase } }
        models { nodes { modelId pricing { input output } providers { address } } pageInfo { hasNextPage } }
        providers(first: 1) { edges { cursor node { address onChain { modelId } } } } }`,
    );
    expect(errors ?? []).toEqual([]);
    const byId = new Map(
      data.networks.map((network: { chainIdHex: string; name: string }) => [network.name, network]),
    );
    expect([...byId.values()]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          chainId: 16602,
          chainIdHex: "0x40DA",
          storageStartBlock: "1",
          daStartBlock: "940000",
        }),
        expect.objectContaining({
          chainId: 16661,
          chainIdHex: "0x4115",
          storageStartBlock: "2387557",
          daStartBlock: null,
        }),
      ]),
    );
    expect(Number(data.network.head.number)).toBeGreaterThan(0);
    expect(data.models.nodes).toMatchObject([{ modelId: MODEL, pricing: { input: "3", output: "5" } }]);
    expect(data.providers.edges[0].node.onChain.modelId).toBe(MODEL);
  });

  test("a deposit on chain is shown with its confirmations and is in the balance", async () => {
    const who = await owner(0n);
    const paid = { fromKey: DEMO_USER.privateKey, account: who.account as Hex, amountNeuron: 777n };
    const transactionHash = await depositToVault(stack().rpcUrl, paid);
    const query =
      "{ viewer { account { balance { total } deposits { nodes { amount status transactionHash requiredConfirmations } } } } }";
    const account = await until(async () => {
      const { data } = await ask(origin(), who.management, query);
      const { account: seen } = data.viewer;
      // One query reads twice, and the deposit may arrive in between.
      return seen.balance.total === "777" && seen.deposits.nodes.length > 0 && seen;
    });
    expect(account.deposits.nodes).toEqual([
      { amount: "777", status: "CONFIRMED", transactionHash, requiredConfirmations: 0 },
    ]);
  });

  test("a file submitted on chain is found by its root and by its sequence number", async () => {
    const root = `0x${Buffer.from(`${kind} root`).toString("hex").padEnd(64, "0")}` as const;
    const client = await connectDevnet(stack().rpcUrl, DEMO_USER.privateKey);
    const { flow } = contractAddresses();
    const data = { length: 100n, tags: "0x", nodes: [{ root, height: 0n }] } as const;
    const call = { address: flow, abi: flowAbi, functionName: "submit", value: 10n ** 9n } as const;
    await mined(
      client,
      await client.writeContract({ ...call, args: [{ data, submitter: DEMO_USER.address }] }),
    );
    const fields = "root sizeBytes url submissions { nodes { txSeq sender { address } startEntryIndex } }";
    const byRoot = `query ($root: Hash32!) { file(root: $root) { ${fields} } }`;
    const file = await until(
      async () => (await ask(origin(), undefined, byRoot, { root })).data.file ?? false,
    );
    expect(file).toMatchObject({
      root,
      sizeBytes: "100",
      submissions: { nodes: [{ sender: { address: DEMO_USER.address } }] },
    });
    const [{ txSeq }] = file.submissions.nodes;
    const found = await ask(origin(), undefined, `{ file(txSeq: "${txSeq}") { ${fields} } }`);
    expect(found.data).toEqual({ file });
    expect((await ask(origin(), undefined, '{ file(txSeq: "99999") { root } }')).data).toEqual({
      file: null,
    });
  });

  test("a wrong argument, an unknown field and a page too large are refused, each with a code", async () => {
    const who = await owner();
    const codeOf = async (query: string) =>
      (await ask(origin(), who.management, query)).errors?.[0]?.extensions?.code;
    expect(await codeOf("{ nothing }")).toBe("GRAPHQL_VALIDATION_FAILED");
    expect(await codeOf('{ provider(address: "0x1") { address } }')).toMatch(
      /GRAPHQL_VALIDATION_FAILED|invalid_parameter/,
    );
    expect(await codeOf("{ models(first: 101) { nodes { id } } }")).toBe("invalid_parameter");
    expect(await codeOf(`{ models(after: "${btoa("[1]")}") { nodes { id } } }`)).toBe("invalid_cursor");
    expect(await codeOf("{ file { root } }")).toBe("invalid_parameter");
    for (const hidden of ["{ _service { sdl } }", "{ _entities(representations: []) { __typename } }"])
      expect(await codeOf(hidden)).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test.skipIf(isRouted)("a subscription is refused as a POST query", async () => {
    const asked = await ask(origin(), (await owner()).management, "subscription { balanceChanged { id } }");
    expect([asked.status, asked.errors?.[0]?.extensions?.code]).toEqual([400, "graphql_refused"]);
  });

  test.each([
    ["graphql-transport-ws", followSocket],
    ["server-sent events", followEvents],
  ] as const)(
    "balanceChanged follows an account over %s, and a cursor replays missed events",
    async (_, follow) => {
      const who = await owner();
      const query = (after?: string) =>
        `subscription { balanceChanged${after ? `(after: "${after}")` : ""} {
        id cursor cause balance { total held available } account { address } request { requestId cost { total } } } }`;
      const causes = ({ results }: Following) => results.map(({ data }) => data.balanceChanged.cause);
      const live = await follow(origin(), who.management, query());
      await until(() => stack().app.events.openStreams > 0);
      const id = await chat(who);
      await until(() => live.results.length === 2);
      await stack().app.holds.returnUnused();
      await until(() => live.results.length === 3);
      expect(causes(live)).toEqual(["HOLD", "SETTLEMENT", "RELEASE"]);
      const [held, settled, returned] = live.results.map(({ data }) => data.balanceChanged);
      expect(held.balance.held).not.toBe("0");
      expect(settled.request).toMatchObject({ requestId: id });
      expect(BigInt(settled.balance.total)).toBe(1_000_000n - BigInt(settled.request.cost.total));
      expect(returned).toMatchObject({ balance: { held: "0", total: settled.balance.total }, request: null });
      await live.stop();
      await chat(who);
      const resumed = await follow(origin(), who.management, query(held.cursor));
      await until(() => resumed.results.length >= 4);
      expect(causes(resumed).slice(0, 4)).toEqual(["SETTLEMENT", "RELEASE", "HOLD", "SETTLEMENT"]);
      expect(resumed.results[0]?.data.balanceChanged.id).toBe(settled.id);
      await resumed.stop();
      await until(() => stack().app.events.openStreams === 0);
    },
  );

  test("events are sent to their own account only, and only with the scope", async () => {
    const [mine, theirs] = [await owner(), await owner()];
    const query = "subscription { balanceChanged { cause } }";
    const following = await followSocket(origin(), mine.management, query);
    await until(() => stack().app.events.openStreams === 1);
    await chat(theirs);
    await chat(mine);
    await until(() => following.results.length === 2);
    await following.stop();
    for (const secret of [undefined, mine.secret]) {
      const refused = await followEvents(origin(), secret, query);
      await refused.closed;
      const code = refused.results[0]?.errors?.[0]?.extensions?.code;
      expect(code).toBe(secret ? "insufficient_scope" : "missing_authorization");
    }
    const later = `subscription { balanceChanged(after: "${stack().app.events.cursorAt(10n ** 12n)}") { cause } }`;
    const future = await followEvents(origin(), mine.management, later);
    await future.closed;
    expect(future.results[0]?.errors?.[0]?.extensions?.code).toBe("invalid_cursor");
    await until(() => stack().app.events.openStreams === 0);
  });
});

test.skipIf(isRouted)("a wrong credential opens no stream", async () => {
  const query = "subscription { balanceChanged { cause } }";
  const wrong = await followSocket(stack().origin, "sk-wrong", query);
  expect(await wrong.closed).toMatchObject({ code: 4403 });
  await expect(followEvents(stack().origin, "sk-wrong", query)).rejects.toThrow("401");
});

test("a subgraph answers only requests with a principal that a gateway signed less than 30 s ago", async () => {
  const url = `${remote.urls.accounts}/graphql`;
  const principal = { kind: "anonymous" } as const;
  const call = (token?: string) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token && { "x-zerograph-principal": token }) },
      body: JSON.stringify({ query: "{ viewer { kind } }" }),
    });
  expect((await call(sealPrincipal(principal, remote.secret))).status).toBe(200);
  expect((await call()).status).toBe(401);
  expect((await call("x.y")).status).toBe(401);
  expect((await call(sealPrincipal(principal, "another secret of the right length"))).status).toBe(401);
  expect((await call(sealPrincipal(principal, remote.secret, Date.now() - 31_000))).status).toBe(401);
});
