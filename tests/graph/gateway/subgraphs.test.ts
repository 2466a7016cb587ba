// @module-tag medium
import { getAddress } from "viem";
import { expect, test } from "vitest";
import { PROVIDER } from "../../../src/devnet/chain/accounts.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import type { Scope } from "../../../src/keys/auth/principal.ts";
import { toNodeId } from "../../../subgraphs/shared/nodes/node-id.ts";
import { INPUT_PRICE, MODEL } from "../../support/chain/network.ts";
import { untilPublished } from "../../support/events.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();

type Answer = {
  data?: Record<string, unknown> | null;
  errors?: { path?: unknown; extensions?: { code?: string } }[];
};

async function ask(secret: string | undefined, query: string, variables: object = {}): Promise<Answer> {
  const reply = await fetch(`${stack().origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(secret && { authorization: `Bearer ${secret}` }) },
    body: JSON.stringify({ query, variables }),
  });
  return (await reply.json()) as Answer;
}

function codesOf({ errors = [] }: Answer): (string | undefined)[] {
  return errors.map(({ extensions }) => extensions?.code);
}

async function managementKey({ account }: Seeded, ...scopes: Scope[]): Promise<string> {
  return (await stack().app.managementKeys.create(account, newId(), scopes)).secret;
}

/** Sends a chat and waits until it is charged; returns its id. */
async function chat({ account, secret }: Seeded): Promise<string> {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Hello" }], max_tokens: 3 }),
  });
  await reply.text();
  const id = reply.headers.get("x-request-id") ?? "";
  await until(async () => (await stack().app.requests.byIds(account, [id]))[0]?.status === "completed");
  return id;
}

test("every caller may query viewer, and only account credentials reach the account", async () => {
  const seeded = await seedAccount(stack().app.database, 1_000n);
  const query = "{ viewer { kind scopes account { id address } } }";
  const account = { id: toNodeId("Account", seeded.account), address: getAddress(seeded.account) };
  const key = await managementKey(seeded, "keys:read");
  for (const [secret, kind, code] of [
    [undefined, "ANONYMOUS", "missing_authorization"],
    [seeded.secret, "API_KEY", "insufficient_scope"],
  ] as const)
    expect(await ask(secret, query)).toMatchObject({
      data: { viewer: { kind, scopes: [], account: null } },
      errors: [{ path: ["viewer", "account"], extensions: { code } }],
    });
  expect(await ask(key, query)).toEqual({
    data: { viewer: { kind: "MANAGEMENT_KEY", scopes: ["KEYS_READ"], account } },
  });
});

test("an account is readable with the scope for each part, and only by itself", async () => {
  const [mine, other] = [
    await seedAccount(stack().app.database, 1_000n),
    await seedAccount(stack().app.database, 0n),
  ];
  const query = `query ($address: Address!) {
    account(address: $address) { balance { deposit held available } apiKeys { nodes { keyId name status } } }
  }`;
  const full = await managementKey(mine, "account:read", "keys:read");
  const variables = { address: getAddress(mine.account) };
  expect(await ask(full, query, variables)).toEqual({
    data: {
      account: {
        balance: { deposit: "1000", held: "0", available: "1000" },
        apiKeys: { nodes: [{ keyId: mine.keyId, name: "test", status: "ACTIVE" }] },
      },
    },
  });
  const narrow = await ask(await managementKey(mine, "account:read"), query, variables);
  expect(narrow.data).toMatchObject({ account: { balance: { deposit: "1000" }, apiKeys: null } });
  expect(narrow.errors).toMatchObject([
    { path: ["account", "apiKeys"], extensions: { code: "insufficient_scope" } },
  ]);
  // That this address has an account is public: each private part of it is refused separately.
  const refused = (code: string) => ({
    data: { account: { balance: null, apiKeys: null } },
    codes: [code, code],
  });
  for (const [secret, address, code] of [
    [full, other.account, "insufficient_scope"],
    [mine.secret, mine.account, "insufficient_scope"],
    [undefined, mine.account, "missing_authorization"],
  ] as const) {
    const result = await ask(secret, query, { address });
    expect({ data: result.data, codes: codesOf(result) }).toEqual(refused(code));
  }
});

test("a request is joined with its key, its account's balance, its provider and the provider's row on chain", async () => {
  const [mine, other] = [
    await seedAccount(stack().app.database, 10_000n),
    await seedAccount(stack().app.database, 0n),
  ];
  const id = await chat(mine);
  await stack().app.holds.returnUnused();
  const key = await managementKey(mine, "account:read", "keys:read");
  const query = `query ($id: ID!) {
    request(id: $id) {
      requestId status serviceType outputTokens cost { input output total } timing { durationMs }
      apiKey { keyId name } account { address balance { held } requests(first: 1) { nodes { requestId } } }
      model { modelId pricing { input } } provider { address routable onChain { modelId teeAcknowledged } }
    }
  }`;
  const answer = await ask(key, query, { id });
  expect(answer.errors).toBeUndefined();
  expect(answer.data?.request).toMatchObject({
    requestId: id,
    status: "COMPLETED",
    serviceType: "CHATBOT",
    outputTokens: 3,
    cost: { output: "15" },
    apiKey: { keyId: mine.keyId, name: "test" },
    account: {
      address: getAddress(mine.account),
      balance: { held: "0" },
      requests: { nodes: [{ requestId: id }] },
    },
    model: { modelId: MODEL, pricing: { input: String(INPUT_PRICE) } },
    provider: {
      address: PROVIDER.address,
      routable: true,
      onChain: { modelId: MODEL, teeAcknowledged: true },
    },
  });
  const otherKey = await managementKey(other, "account:read");
  expect(await ask(otherKey, query, { id })).toEqual({ data: { request: null } });
});

test("a balance is followed, and a subscriber that resumes by cursor misses nothing", async () => {
  const mine = await seedAccount(stack().app.database, 10_000n);
  const key = await managementKey(mine, "account:read");
  await untilPublished(stack().app.database);
  const first = await follow(key, null, 2, () => chat(mine));
  expect(first).toMatchObject([
    { cause: "HOLD", request: null },
    { cause: "SETTLEMENT", request: { cost: { output: "15" } } },
  ]);
  const again = await follow(key, String(first[0]?.cursor), 1, async () => {});
  expect(again).toMatchObject([{ id: first[1]?.id, cause: "SETTLEMENT" }]);
});

test("a file is identified in exactly one way, and an invalid root is reported as such", async () => {
  const root = `0x${"ab".repeat(32)}`;
  expect(await ask(undefined, `{ file(root: "${root}") { sizeBytes } }`)).toEqual({ data: { file: null } });
  expect(codesOf(await ask(undefined, "{ file { sizeBytes } }"))).toEqual(["invalid_parameter"]);
  expect(codesOf(await ask(undefined, `{ file(root: "${root}", txSeq: 1) { sizeBytes } }`))).toEqual([
    "invalid_parameter",
  ]);
});

test("the network returns its endpoints, and its wallet parameters are the ones to add it by", async () => {
  const answer = await ask(
    undefined,
    `{ network { networkId chainIdHex served head { number } watchers { name phase } walletParameters }
       networks { networkId served head { number } } contract(name: FLOW) { address } block(number: 0) { number } }`,
  );
  expect(answer).toMatchObject({
    data: {
      network: {
        networkId: "devnet",
        chainIdHex: "0x40DA",
        served: true,
        walletParameters: { chainId: "0x40DA" },
      },
      networks: [
        { networkId: "devnet" },
        { networkId: "testnet", served: false, head: null },
        { networkId: "mainnet" },
      ],
      contract: { address: getAddress(stack().app.network.contracts.flow.address ?? "0x") },
      block: { number: "0" },
    },
  });
});

test("lists continue where a page ended", async () => {
  const query =
    "query ($after: Cursor) { providers(first: 1, after: $after) { nodes { address } pageInfo { hasNextPage hasPreviousPage endCursor } } }";
  const { data } = await ask(undefined, query);
  expect(data).toMatchObject({
    providers: { nodes: [{ address: PROVIDER.address }], pageInfo: { hasPreviousPage: false } },
  });
  const { pageInfo } = (data?.providers ?? {}) as { pageInfo: { endCursor: string } };
  expect(await ask(undefined, query, { after: pageInfo.endCursor })).toMatchObject({
    data: { providers: { nodes: [], pageInfo: { hasNextPage: false, hasPreviousPage: true } } },
  });
  expect(codesOf(await ask(undefined, "{ models(first: 101) { nodes { id } } }"))).toEqual([
    "invalid_parameter",
  ]);
  expect(codesOf(await ask(undefined, query, { after: "WyJhIiwiYiJd" }))).toEqual(["invalid_cursor"]);
});

type BalanceEvent = { id: string; cursor: string };

/** Subscribes, does `act` once the stream is open, and reads `count` events. */
async function follow(
  secret: string,
  after: string | null,
  count: number,
  act: () => Promise<unknown>,
): Promise<BalanceEvent[]> {
  const reply = await fetch(`${stack().origin}/graphql/stream`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      authorization: `Bearer ${secret}`,
    },
    body: JSON.stringify({
      query: `subscription ($after: Cursor) { balanceChanged(after: $after) {
        id cursor cause balance { held } account { balance { held } } request { status cost { output } }
      } }`,
      variables: { after },
    }),
  });
  await until(async () => stack().app.events.openStreams > 0);
  void act();
  const events: BalanceEvent[] = [];
  let text = "";
  for await (const chunk of reply.body ?? []) {
    text += Buffer.from(chunk).toString("utf8");
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const { data, errors } = JSON.parse(line.slice(6)) as {
        data?: { balanceChanged: BalanceEvent };
        errors?: unknown;
      };
      if (!data) throw new Error(JSON.stringify(errors));
      events.push(data.balanceChanged);
    }
    if (events.length >= count) break;
  }
  await until(async () => stack().app.events.openStreams === 0);
  return events;
}
