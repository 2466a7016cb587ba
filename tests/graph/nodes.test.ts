// @module-tag large
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, test } from "vitest";
import { DEMO_USER, DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../src/devnet/chain/actors.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { NODE_NAMES, readNodeId, toNodeId } from "../../subgraphs/shared/nodes/node-id.ts";
import { BatchClient } from "../support/batches/batch-world.ts";
import { agentNft, handlesOf } from "../support/chain/agent-chain.ts";
import { agentProofs, iTransfer, mintAgent } from "../support/chain/agents.ts";
import { MODEL } from "../support/chain/network.ts";
import { signInAs } from "../support/chain/sign-in.ts";
import { ask, failureCode } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack, useStarted } from "../support/stack.ts";
import { newStream, newWriter, write } from "../support/storage/kv.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const remote = useStarted((onEnd) => startRemoteGateway(stack(), onEnd));
useServices(stack, ["images"]);

type Name = (typeof NODE_NAMES)[number];
/** How an entity is found without its global id: a path to it, and a field that `node` must return alike. */
type Lookup = { readonly query: string; readonly path: string; readonly field: string };

/** The entities of one account, by type; `secret` may read them, and `outsider` none of the private ones. */
type World = {
  readonly secret: string;
  readonly outsider: string;
  readonly lookups: Readonly<Record<Name, Lookup>>;
};

let world: World;
beforeAll(async () => {
  world = await populate();
});

async function populate(): Promise<World> {
  const { app, rpcUrl, origin } = stack();
  const wallet = privateKeyToAccount(generatePrivateKey());
  const { token } = await signInAs(origin, wallet);
  const account = wallet.address.toLowerCase() as `0x${string}`;
  await depositToVault(rpcUrl, { fromKey: DEPLOYER.privateKey, account, amountNeuron: 10n ** 15n });
  await until(async () => (await app.balances.byAccounts([account]))[0]?.available === 10n ** 15n);
  const { secret: spender } = await app.apiKeys.create(account, "spends");
  await app.managementKeys.create(account, "manages", SCOPES);
  const owner = await app.authenticate(`Bearer ${token}`);
  const url = "http://127.0.0.1:1/";
  await app.webhooks.create(owner, { name: "hook", url, events: ["job.ended"] });
  await app.tagBudgets.create(account, { name: "team", value: "search", creditLimit: 1n });
  const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`;
  const made = await ask(
    origin,
    spender,
    `mutation {
      submitImageJob(input: ${input}) { imageJob { jobId } }
      completeChat(input: { model: "${MODEL}", messages: [{ role: "user", content: "hi" }], maxTokens: 2 }) {
        completion { bill { requestId } } } }`,
  );
  const { jobId } = made.data.submitImageJob.imageJob;
  await new BatchClient({ origin }, { secret: spender }).start("");
  const { requestId } = made.data.completeChat.completion.bill;
  const streamId = newStream();
  const txSeq = await write(app, await newWriter(rpcUrl), {
    writes: [{ streamId, key: Buffer.from("k"), value: Buffer.from("v") }],
  });
  const { tokenId, receiver } = await moveToken();
  const provider = SERVICES.images.account.address;
  await until(async () => (await app.requests.byIds(account, [requestId]))[0]?.status === "completed");
  const mine = (field: string) => `{ viewer { account { ${field} } } }`;
  return {
    secret: token,
    outsider: (await seedAccount(app.database, 0n)).secret,
    lookups: {
      Account: { query: mine("id address"), path: "viewer.account", field: "address" },
      ApiKey: {
        query: mine("apiKeys { nodes { id keyId } }"),
        path: "viewer.account.apiKeys.nodes.0",
        field: "keyId",
      },
      ManagementKey: {
        query: mine("managementKeys { nodes { id keyId } }"),
        path: "viewer.account.managementKeys.nodes.0",
        field: "keyId",
      },
      Deposit: {
        query: mine("deposits { nodes { id transactionHash } }"),
        path: "viewer.account.deposits.nodes.0",
        field: "transactionHash",
      },
      Webhook: {
        query: mine("webhooks { nodes { id webhookId } }"),
        path: "viewer.account.webhooks.nodes.0",
        field: "webhookId",
      },
      TagBudget: {
        query: mine("tagBudgets { nodes { id budgetId } }"),
        path: "viewer.account.tagBudgets.nodes.0",
        field: "budgetId",
      },
      ImageJob: { query: `{ imageJob(id: "${jobId}") { id modelId } }`, path: "imageJob", field: "modelId" },
      Batch: { query: "{ batches { nodes { id batchId } } }", path: "batches.nodes.0", field: "batchId" },
      InferenceRequest: {
        query: `{ request(id: "${requestId}") { id requestId } }`,
        path: "request",
        field: "requestId",
      },
      Model: { query: `{ model(id: "${MODEL}") { id modelId } }`, path: "model", field: "modelId" },
      Provider: { query: `{ provider(address: "${provider}") { id url } }`, path: "provider", field: "url" },
      File: { query: `{ file(txSeq: "${txSeq}") { id root } }`, path: "file", field: "root" },
      Submission: {
        query: `{ file(txSeq: "${txSeq}") { submissions { nodes { id transactionHash } } } }`,
        path: "file.submissions.nodes.0",
        field: "transactionHash",
      },
      KvStream: {
        query: `{ kvStream(streamId: "${streamId}") { id streamId } }`,
        path: "kvStream",
        field: "streamId",
      },
      KvTransaction: {
        query: `{ kvTransaction(txSeq: "${txSeq}") { id result } }`,
        path: "kvTransaction",
        field: "result",
      },
      AgentToken: {
        query: `{ agentToken(contract: "${agentNft()}", tokenId: "${tokenId}") { id transactionHash } }`,
        path: "agentToken",
        field: "transactionHash",
      },
      AgentContract: {
        query: "{ agentContracts { id address } }",
        path: "agentContracts.0",
        field: "address",
      },
      SealedKey: {
        query: `{ sealedKeys(to: "${receiver}") { nodes { id blockHash } } }`,
        path: "sealedKeys.nodes.0",
        field: "blockHash",
      },
      Network: { query: "{ network { id networkId } }", path: "network", field: "networkId" },
    },
  };
}

/** A token that moved with its keys, so that keys were sealed for its receiver. */
async function moveToken() {
  const { rpcUrl } = stack();
  const owner = await handlesOf(rpcUrl).funded();
  const { tokenId, data } = await mintAgent(rpcUrl, { to: owner.address, byKey: owner.privateKey });
  const proofs = await agentProofs(data, { to: privateKeyToAccount(DEMO_USER.privateKey) });
  const move = { byKey: owner.privateKey, from: owner.address, to: DEMO_USER.address, tokenId, proofs };
  await iTransfer(rpcUrl, move);
  await until(async () => {
    const { data: found } = await ask(
      stack().origin,
      undefined,
      `{ sealedKeys(to: "${DEMO_USER.address}") { nodes { id } } }`,
    );
    return found.sealedKeys.nodes.length > 0;
  });
  return { tokenId, receiver: DEMO_USER.address };
}

function at(data: unknown, path: string): Record<string, string> {
  return path.split(".").reduce((value, part) => Object(value)[part], data) as Record<string, string>;
}

async function find(name: Name, origin = stack().origin): Promise<Record<string, string>> {
  const { query, path } = world.lookups[name];
  const { data, errors } = await ask(origin, world.secret, query);
  expect(errors).toBeUndefined();
  return at(data, path);
}

describe.each(["one process", "subgraphs in other processes"])("in %s", (where) => {
  const origin = () => (where === "one process" ? stack().origin : remote().origin);

  test.each(NODE_NAMES)("a %s is found again by its global id, with its fields", async (name) => {
    const found = await find(name, origin());
    const { field } = world.lookups[name];
    expect(readNodeId(found.id ?? "")?.name).toBe(name);
    const query = `query ($id: ID!) { node(id: $id) { __typename id ... on ${name} { ${field} } } }`;
    const { data, errors } = await ask(origin(), world.secret, query, { id: found.id });
    expect(errors).toBeUndefined();
    expect(data.node).toEqual({ __typename: name, id: found.id, [field]: found[field] });
    expect(data.node[field]).toEqual(expect.any(String));
  });

  test("nodes returns entities of every type in the order of the ids, and null for what does not exist", async () => {
    const found = [];
    for (const name of NODE_NAMES) found.push({ name, id: (await find(name, origin())).id });
    const missing = NODE_NAMES.filter((name) => name !== "Account").map((name) => toNodeId(name, newId()));
    const ids = [
      ...found.map(({ id }) => id),
      ...missing,
      "",
      "none",
      newId(),
      toNodeId("Model", ""),
    ].reverse();
    const { data, errors } = await ask(
      origin(),
      world.secret,
      "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on File { root } ... on ImageJob { jobId } } }",
      { ids },
    );
    expect(errors).toBeUndefined();
    const names = data.nodes.map((node: { __typename: string } | null) => node?.__typename ?? null);
    expect(names).toEqual(
      [...missing.map(() => null), null, null, null, null].concat([...NODE_NAMES].reverse() as never),
    );
  });
});

test("a caller that may not read an entity gets the error of the entity's own field, by node and by nodes", async () => {
  const forManagers = [
    "ApiKey",
    "ManagementKey",
    "Deposit",
    "InferenceRequest",
    "Webhook",
    "TagBudget",
  ] as const;
  const refused = [
    ...forManagers.map((name) => [name, world.outsider, "insufficient_scope"] as const),
    ...([...forManagers, "ImageJob", "Batch"] as const).map(
      (name) => [name, undefined, "missing_authorization"] as const,
    ),
  ];
  for (const [name, secret, code] of refused) {
    const { id } = await find(name);
    const own = await ask(stack().origin, secret, world.lookups[name].query);
    expect([name, failureCode(own)]).toEqual([name, code]);
    const one = await ask(stack().origin, secret, "query ($id: ID!) { node(id: $id) { id } }", { id });
    expect([name, one.data.node, failureCode(one)]).toEqual([name, null, code]);
    const many = await ask(stack().origin, secret, "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {
      ids: [toNodeId("Model", MODEL), id],
    });
    expect([name, many.data.nodes, failureCode(many)]).toEqual([
      name,
      [{ id: toNodeId("Model", MODEL) }, null],
      code,
    ]);
    expect(many.errors?.[0]?.path).toEqual(["nodes", 1]);
  }
});

test("another account's entity is not found, as if it did not exist", async () => {
  const { token } = await signInAs(stack().origin, privateKeyToAccount(generatePrivateKey()));
  for (const name of [
    "ApiKey",
    "ManagementKey",
    "Deposit",
    "ImageJob",
    "Batch",
    "InferenceRequest",
  ] as const) {
    const { id } = await find(name);
    const { data, errors } = await ask(stack().origin, token, "query ($id: ID!) { node(id: $id) { id } }", {
      id,
    });
    expect([name, data.node, errors]).toEqual([name, null, undefined]);
  }
});

test("an ID argument accepts the global and the raw id, and finds nothing for the id of another type", async () => {
  const job = await find("ImageJob");
  const model = await find("Model");
  const query = "query ($id: ID!) { imageJob(id: $id) { id jobId } }";
  const { data } = await ask(stack().origin, world.secret, query, { id: job.id });
  expect(data.imageJob.id).toBe(job.id);
  expect((await ask(stack().origin, world.secret, query, { id: data.imageJob.jobId })).data).toEqual(data);
  expect((await ask(stack().origin, world.secret, query, { id: model.id })).data.imageJob).toBeNull();
});

test("an id that the database cannot store is the id of nothing, by each way to an entity", async () => {
  const text = "a\0b";
  const ids = [...NODE_NAMES.map((name) => toNodeId(name, text)), toNodeId("Model", MODEL)];
  const many = await ask(stack().origin, world.secret, "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {
    ids,
  });
  expect(many.errors).toBeUndefined();
  expect(many.data.nodes).toEqual([...NODE_NAMES.map(() => null), { id: toNodeId("Model", MODEL) }]);
  const fields = ["request", "imageJob", "batch", "model", "node"];
  for (const id of [text, "a\ud800"]) {
    const query = `query ($id: ID!) { ${fields.map((field) => `${field}(id: $id) { id }`).join(" ")} }`;
    const one = await ask(stack().origin, world.secret, query, { id });
    expect(one.errors).toBeUndefined();
    expect(one.data).toEqual(Object.fromEntries(fields.map((field) => [field, null])));
  }
});

test("an id in another form finds its entity under the one id that the entity has, or nothing", async () => {
  const forms: readonly ((key: string) => string)[] = [
    (key) => key.replaceAll(/[a-f]+(?=[0-9a-f:-]*$)/g, (hex) => hex.toUpperCase()),
    (key) => key.toUpperCase(),
    (key) => `${key}:junk`,
    (key) => `${key} `,
    (key) => `0${key}`,
  ];
  const caseless = new Set<string>();
  for (const name of NODE_NAMES) {
    const { id } = await find(name);
    const key = readNodeId(id ?? "")?.key ?? "";
    const ids = forms.map((form) => toNodeId(name, form(key)));
    const query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    const { data } = await ask(stack().origin, world.secret, query, { ids });
    const answers = (data.nodes as readonly ({ readonly id: string } | null)[]).map(
      (node) => node?.id ?? null,
    );
    expect([name, ...new Set(answers.filter((answer) => answer !== null && answer !== id))]).toEqual([name]);
    expect([name, ...answers.slice(2)]).toEqual([name, null, null, null]);
    if (ids[0] !== id && answers[0] === id) caseless.add(name);
  }
  expect([...caseless]).toEqual(expect.arrayContaining(["Provider", "File", "AgentToken", "AgentContract"]));
});

test("a tag that the database cannot store is refused, by the name of its argument", async () => {
  for (const [field, param] of [
    ["usage { tags(name: $name) { tag { name } } }", "name"],
    ["usage { buckets(by: DAY, groupBy: [TAG], tagName: $name) { startsAt } }", "tagName"],
    ['usage(tag: { name: $name, value: "a" }) { stats { requestCount } }', "tag.name"],
  ] as const) {
    const query = `query ($name: String!) { viewer { account { ${field} } } }`;
    const { errors } = await ask(stack().origin, world.secret, query, { name: "a\0b" });
    expect(errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter", param });
  }
});

test("more than 100 ids are refused", async () => {
  const ids = Array.from({ length: 101 }, () => toNodeId("Model", MODEL));
  const answer = await ask(stack().origin, undefined, "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {
    ids,
  });
  expect(answer.errors?.[0]?.extensions?.code).toMatch(/graphql_refused|invalid_parameter/);
});
