// @module-tag large
import { createTestClient, http, publicActions } from "viem";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fineTuningServingAbi } from "../../src/chain/abi/fine-tuning-serving.ts";
import { flowAbi } from "../../src/chain/abi/flow.ts";
import { IMAGE_PROVIDER, PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { depositToVault, registerProvider } from "../../src/devnet/chain/actors.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { MODEL } from "../support/chain/network.ts";
import { newWalletUser, type Prepared, type WalletUser } from "../support/chain/wallet-user.ts";
import { ask, type GraphResult } from "../support/clients/graph-client.ts";
import { startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();

const TOKEN = 10n ** 18n;
const POOLS = `query ($a: Address!) { account(address: $a) {
  balance { total available }
  direct {
    ledger { available locked total additionalInfo }
    subAccounts { nodes { providerAddress balance pendingRefund spendable acknowledged generation
      refunds { amount requestedAt unlocksAt } provider { address onChain { modelId } } } } } } }`;

async function pools({ ask, address }: WalletUser) {
  const { data, errors } = await ask(POOLS, { a: address });
  expect(errors ?? []).toEqual([]);
  return data.account;
}

/** Prepares a transaction in the wallet's name, sends it, and returns it. */
async function act(user: WalletUser, field: string): Promise<Prepared> {
  const { prepared, errors } = await user.prepare(field);
  expect(errors ?? []).toEqual([]);
  if (!prepared) throw new Error("nothing was prepared");
  await user.send(prepared);
  return prepared;
}

async function refusal(
  user: WalletUser,
  field: string,
): Promise<readonly [string | undefined, string | undefined]> {
  const { errors, data } = await user.prepare(field);
  expect(data).toEqual({ prepared: null });
  return [errors?.[0]?.extensions?.code, errors?.[0]?.message];
}

const transfer = (tokens: bigint, service = "INFERENCE") =>
  `prepareTransferFund(provider: "${PROVIDER.address}", service: ${service}, amount: "${tokens * TOKEN}")`;

describe("money", () => {
  test("the router's balance and the direct path are two pools: neither funds, drains or counts the other", async () => {
    const user = await newWalletUser(stack());
    expect(await pools(user)).toEqual({
      balance: { total: "0", available: "0" },
      direct: { ledger: null, subAccounts: { nodes: [] } },
    });
    const opened = await act(user, `prepareAddLedger(amount: "${5n * TOKEN}", additionalInfo: "mine")`);
    expect(opened).toMatchObject({ chainId: 16_602, from: user.address, value: String(5n * TOKEN) });
    expect(opened.warnings.join()).toMatch(/a separate pool/);
    const ledger = {
      available: String(5n * TOKEN),
      locked: "0",
      total: String(5n * TOKEN),
      additionalInfo: "mine",
    };
    expect(await pools(user)).toMatchObject({ balance: { total: "0" }, direct: { ledger } });

    const { rpcUrl } = stack();
    await depositToVault(rpcUrl, {
      fromKey: user.privateKey,
      account: user.address,
      amountNeuron: 2n * TOKEN,
    });
    await until(async () => (await pools(user)).balance.total === String(2n * TOKEN));
    expect((await pools(user)).direct).toMatchObject({ ledger, subAccounts: { nodes: [] } });

    await act(user, transfer(3n));
    const { balance, direct } = await pools(user);
    expect(balance).toEqual({ total: String(2n * TOKEN), available: String(2n * TOKEN) });
    expect(direct.ledger).toMatchObject({
      available: String(2n * TOKEN),
      locked: String(3n * TOKEN),
      total: String(5n * TOKEN),
    });
    expect(direct.subAccounts.nodes).toEqual([
      {
        providerAddress: PROVIDER.address,
        balance: String(3n * TOKEN),
        pendingRefund: "0",
        spendable: String(3n * TOKEN),
        acknowledged: true,
        generation: "0",
        refunds: [],
        provider: { address: PROVIDER.address, onChain: { modelId: MODEL } },
      },
    ]);
    const funds = await stack().app.funds.of(user.address.toLowerCase() as `0x${string}`);
    expect(
      JSON.stringify(funds, (_, value) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toContain(String(5n * TOKEN));
  });

  test("a refund shows when it unlocks, cannot be collected earlier, and returns to the wallet", async () => {
    const user = await newWalletUser(stack());
    await act(user, `prepareAddLedger(amount: "${6n * TOKEN}")`);
    await act(user, transfer(4n));
    const retrieve = `prepareRetrieveFund(providers: ["${PROVIDER.address}"], service: INFERENCE)`;
    await act(user, retrieve);
    const [pending] = (await pools(user)).direct.subAccounts.nodes;
    expect(pending).toMatchObject({ pendingRefund: String(4n * TOKEN), spendable: "0" });
    const [refund] = pending.refunds;
    expect(refund.amount).toBe(String(4n * TOKEN));
    expect(Date.parse(refund.unlocksAt) - Date.parse(refund.requestedAt)).toBe(3_600_000);

    await act(user, retrieve);
    expect((await pools(user)).direct.ledger).toMatchObject({ available: String(2n * TOKEN) });
    const chain = createTestClient({ mode: "anvil", transport: http(stack().rpcUrl) }).extend(publicActions);
    await chain.increaseTime({ seconds: 3_600 });
    await chain.mine({ blocks: 1 });
    await act(user, retrieve);
    expect((await pools(user)).direct).toMatchObject({
      ledger: { available: String(6n * TOKEN), locked: "0" },
      subAccounts: { nodes: [{ balance: "0", refunds: [] }] },
    });
    const before = await user.client.getBalance({ address: user.address });
    await act(user, `prepareRefund(amount: "${6n * TOKEN}")`);
    const after = await user.client.getBalance({ address: user.address });
    expect(after - before).toBeGreaterThan(6n * TOKEN - TOKEN / 100n);
    expect((await pools(user)).direct.ledger.total).toBe("0");
  });

  test("what a contract would refuse is reported with its own error before anything is signed", async () => {
    const user = await newWalletUser(stack());
    const add = (tokens: bigint) => `prepareAddLedger(amount: "${tokens * TOKEN}")`;
    expect(await refusal(user, transfer(1n))).toEqual([
      "contract_refused",
      expect.stringMatching(/^LedgerNotExists\(0x/),
    ]);
    expect(await refusal(user, add(2n))).toEqual([
      "contract_refused",
      `MinimumDepositRequired(${2n * TOKEN}, ${3n * TOKEN})`,
    ]);
    expect(await refusal(user, add(5_000n))).toEqual([
      "contract_refused",
      expect.stringContaining("balance"),
    ]);
    await act(user, add(3n));
    expect(await refusal(user, add(3n))).toEqual([
      "contract_refused",
      expect.stringMatching(/^LedgerExists\(/),
    ]);
    expect(await refusal(user, transfer(9n))).toEqual([
      "contract_refused",
      `InsufficientAvailableBalance(${3n * TOKEN}, ${9n * TOKEN})`,
    ]);
    expect(await refusal(user, `prepareRefund(amount: "${TOKEN}")`)).toEqual([
      "contract_refused",
      `MinimumDepositRequired(${2n * TOKEN}, ${3n * TOKEN})`,
    ]);
    const unasked = await user.prepare(transfer(9n), null);
    expect(unasked.prepared).toMatchObject({ from: null, to: contractAddresses().ledger, value: "0" });
  });

  test.each([
    ['prepareDepositFund(amount: "0")', "amount"],
    ["prepareRetrieveFund(providers: [], service: INFERENCE)", "providers"],
    [`prepareRevokeTokens(provider: "${PROVIDER.address}", tokenIds: [255])`, "tokenIds"],
    [`prepareRevokeTokens(provider: "${PROVIDER.address}", tokenIds: [])`, "tokenIds"],
    [`prepareAcknowledgeDeliverable(provider: "${PROVIDER.address}", deliverableId: "")`, "deliverableId"],
  ])("%s is refused at once", async (field, param) => {
    const user = await newWalletUser(stack());
    const { errors } = await user.prepare(field, null);
    expect(errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter", param });
  });

  test("one wallet can fund another's ledger, and rules and sub-accounts are read one by one", async () => {
    const [giver, taker] = [await newWalletUser(stack()), await newWalletUser(stack())];
    await act(taker, `prepareAddLedger(amount: "${3n * TOKEN}")`);
    await act(giver, `prepareDepositFund(amount: "${TOKEN}", recipient: "${taker.address}")`);
    await act(taker, `prepareDepositFund(amount: "${TOKEN}")`);
    await act(taker, transfer(1n));
    await act(
      taker,
      `prepareAcknowledgeSigner(provider: "${PROVIDER.address}", service: INFERENCE, acknowledged: true)`,
    );
    const { data } = await taker.ask(
      `query ($a: Address!, $p: Address!, $n: Address!) {
        directRules { minimumLedger minimumTransfer maxProvidersPerRetrieval maxProvidersPerService refundLockSeconds }
        account(address: $a) { direct { ledger { total }
          known: subAccount(provider: $p) { balance acknowledged } unknown: subAccount(provider: $n) { balance } } } }`,
      { a: taker.address, p: PROVIDER.address, n: IMAGE_PROVIDER.address },
    );
    expect(data).toEqual({
      directRules: {
        minimumLedger: String(3n * TOKEN),
        minimumTransfer: String(TOKEN),
        maxProvidersPerRetrieval: "20",
        maxProvidersPerService: "50",
        refundLockSeconds: "3600",
      },
      account: {
        direct: {
          ledger: { total: String(5n * TOKEN) },
          known: { balance: String(TOKEN), acknowledged: true },
          unknown: null,
        },
      },
    });
  });
});

describe("app-sk- secrets", () => {
  let user: WalletUser;
  beforeAll(async () => {
    user = await newWalletUser(stack());
    await act(user, `prepareAddLedger(amount: "${5n * TOKEN}")`);
    await act(user, transfer(3n));
  });

  const textOf = (more = "") =>
    user.ask(
      `{ made: appSecretText(account: "${user.address}", provider: "${PROVIDER.address}"${more}) {
        text digest accountAddress providerAddress generation tokenId expiresAt } }`,
    );
  const assemble = (text: string, signature: string) =>
    user.ask(
      "mutation ($input: AssembleAppSecretInput!) { assembleAppSecret(input: $input) { secret userErrors { code field } } }",
      {
        input: { text, signature },
      },
    );
  async function secretOf(more = ""): Promise<string> {
    const { data } = await textOf(more);
    const signature = await user.signer.signMessage({ message: { raw: data.made.digest } });
    return (await assemble(data.made.text, signature)).data.assembleAppSecret.secret;
  }
  async function statusAt(secret: string): Promise<number> {
    const answer = await fetch(`${stack().provider.url}/v1/proxy/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hi" }], max_tokens: 3 }),
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  test("are signed by the wallet, accepted by the provider, and void once revoked", async () => {
    const ephemeral = await textOf();
    expect(ephemeral.data.made).toMatchObject({
      accountAddress: user.address,
      generation: "0",
      tokenId: 255,
    });
    const [first, second] = [await secretOf(), await secretOf(", tokenId: 7")];
    expect(second).toMatch(/^app-sk-/);
    expect([await statusAt(first), await statusAt(second)]).toEqual([200, 200]);

    await act(user, `prepareRevokeTokens(provider: "${PROVIDER.address}", tokenIds: [7])`);
    await until(async () => (await statusAt(second)) === 401);
    expect(await statusAt(first)).toBe(200);
    expect((await textOf(", tokenId: 7")).errors?.[0]?.extensions).toMatchObject({
      code: "invalid_parameter",
      param: "tokenId",
    });
    await act(user, `prepareRevokeTokens(provider: "${PROVIDER.address}", tokenIds: [8, 9, 9])`);
    const { data } = await user.ask(
      `query ($a: Address!) { account(address: $a) { direct { subAccounts { nodes { revokedTokenIds } } } } }`,
      { a: user.address },
    );
    expect(data.account.direct.subAccounts.nodes).toEqual([{ revokedTokenIds: [7, 8, 9] }]);

    await act(user, `prepareRevokeAllTokens(provider: "${PROVIDER.address}")`);
    await until(async () => (await statusAt(first)) === 401);
    expect((await textOf(", tokenId: 7")).data.made).toMatchObject({
      generation: "1",
      tokenId: 7,
      expiresAt: null,
    });
    expect(await statusAt(await secretOf(", tokenId: 7"))).toBe(200);
  });

  test("are not made from another wallet's signature, or from an altered text", async () => {
    const { text, digest } = (await textOf()).data.made;
    const signature = await user.signer.signMessage({ message: { raw: digest } });
    const other = await newWalletUser(stack());
    const forged = await other.signer.signMessage({ message: { raw: digest } });
    for (const [how, spelled, signed, field] of [
      ["another's signature", text, forged, "signature"],
      ["a changed text", text.replace('"generation":', '"generation":1'), signature, "signature"],
      ["a text in another format", "{}", signature, "text"],
      ["half a signature", text, signature.slice(0, 66), "signature"],
    ] as const) {
      const answer = await assemble(spelled, signed);
      expect(answer.data.assembleAppSecret.userErrors, how).toEqual([{ code: "invalid_parameter", field }]);
      expect(JSON.stringify(answer.data)).not.toContain("app-sk-");
    }
  });

  test.each([
    ['expiresAt: "2020-01-01T00:00:00Z"', "invalid_parameter"],
    ['expiresAt: "2099-01-01T00:00:00Z"', "invalid_parameter"],
    // Its milliseconds since 1970, 0, are those of a secret that never expires.
    ['tokenId: 7, expiresAt: "1970-01-01T00:00:00Z"', "invalid_parameter"],
    ["tokenId: 256", "invalid_parameter"],
    ["tokenId: -1", "invalid_parameter"],
  ])("with %s are refused", async (more, code) => {
    expect((await textOf(`, ${more}`)).errors?.[0]?.extensions?.code).toBe(code);
  });
});

test("the registry of inference services is listed and read by provider, known to the router or not", async () => {
  const stranger = await newWalletUser(stack());
  await registerProvider(stack().rpcUrl, {
    providerKey: stranger.privateKey,
    url: "https://stranger.example/",
    model: "strange",
    inputPrice: 1n,
    outputPrice: 2n,
    serviceType: "video-generation",
    verifiability: "",
    additionalInfo: '{"VerifierURL":"https://verify.example"}',
    teeSigner: stranger.address,
  });
  const { data, errors } = await stranger.ask(
    `query ($p: Address!, $n: Address!) {
      inferenceService(provider: $p) { providerAddress serviceType modelId url additionalInfo provider { address } }
      nobody: inferenceService(provider: $n) { modelId }
      page: inferenceServices(first: 1) { nodes { providerAddress } pageInfo { endCursor hasNextPage } } }`,
    { p: stranger.address, n: contractAddresses().ledger },
  );
  expect(errors ?? []).toEqual([]);
  expect(data.nobody).toBeNull();
  expect(data.inferenceService).toEqual({
    providerAddress: stranger.address,
    serviceType: "video-generation",
    modelId: "strange",
    url: "https://stranger.example",
    additionalInfo: '{"VerifierURL":"https://verify.example"}',
    provider: { address: stranger.address },
  });
  const rest = await stranger.ask(
    "query ($c: Cursor) { inferenceServices(after: $c) { nodes { providerAddress } } }",
    { c: data.page.pageInfo.endCursor },
  );
  const all = [...data.page.nodes, ...rest.data.inferenceServices.nodes];
  expect(rest.errors ?? []).toEqual([]);
  const addresses = all.map(({ providerAddress }: { providerAddress: string }) => providerAddress);
  expect(new Set(addresses)).toEqual(new Set([PROVIDER.address, stranger.address]));
  expect(addresses).toHaveLength(2);
});

describe("fine-tuning", () => {
  const contract = () => ({ address: contractAddresses().fineTuning, abi: fineTuningServingAbi }) as const;
  const QUOTA = { cpuCount: 8n, nodeMemory: 64n, gpuCount: 1n, nodeStorage: 500n, gpuType: "H100" } as const;

  test("services, sub-accounts and deliverables are those on chain, joined to account and provider", async () => {
    const { rpcUrl } = stack();
    const trainer = await connectDevnet(rpcUrl, PROVIDER.privateKey);
    const args = ["http://127.0.0.1:1/", QUOTA, 12n, false, ["llama", "qwen"], PROVIDER.address] as const;
    const call = { ...contract(), functionName: "addOrUpdateService", args, value: 100n * TOKEN } as const;
    await mined(trainer, await trainer.writeContract(call));
    const user = await newWalletUser(stack());
    await act(user, `prepareAddLedger(amount: "${9n * TOKEN}")`);
    await act(user, transfer(2n, "FINE_TUNING"));
    const root = `0x${"ab".repeat(32)}` as const;
    const deliver = {
      ...contract(),
      functionName: "addDeliverable",
      args: [user.address, "task-1", root],
    } as const;
    await mined(trainer, await trainer.writeContract(deliver));

    const submission = [{ length: 256n, tags: "0x", nodes: [{ root, height: 0n }] }] as const;
    const flow = { address: contractAddresses().flow, abi: flowAbi, functionName: "submit" } as const;
    await mined(trainer, await trainer.writeContract({ ...flow, args: submission, value: 10n ** 9n }));

    const query = `query ($a: Address!, $p: Address!) {
      fineTuning { version current since until
        services { nodes { url pricePerToken occupied models quota { cpuCount gpuType } provider { address } } }
        service(provider: $p) { models } refundLockSeconds }
      provider(address: $p) { fineTuning { models } }
      account(address: $a) { direct { fineTuningAccounts(first: 5) { nodes { providerAddress balance deliverableCount
        refunds { amount unlocksAt } deliverables(first: 5) { nodes { deliverableId modelRoot acknowledged settled file { root } } } } } } } }`;
    const variables = { a: user.address, p: PROVIDER.address };
    const { data, errors } = await until(async () => {
      const result = await user.ask(query, variables);
      const [delivered] = result.data.account.direct.fineTuningAccounts.nodes[0].deliverables.nodes;
      return result.data.fineTuning.services.nodes.length > 0 && delivered.file !== null && result;
    });
    expect(errors ?? []).toEqual([]);
    expect(data.fineTuning).toMatchObject({
      version: "V1_1",
      current: true,
      since: "2026-02-12T00:00:00.000Z",
      until: null,
      refundLockSeconds: "3600",
      service: { models: ["llama", "qwen"] },
    });
    expect(data.fineTuning.services.nodes).toEqual([
      {
        url: "http://127.0.0.1:1",
        pricePerToken: "12",
        occupied: false,
        models: ["llama", "qwen"],
        quota: { cpuCount: "8", gpuType: "H100" },
        provider: { address: PROVIDER.address },
      },
    ]);
    expect(data.provider.fineTuning.models).toEqual(["llama", "qwen"]);
    expect(data.account.direct.fineTuningAccounts.nodes).toEqual([
      {
        providerAddress: PROVIDER.address,
        balance: String(2n * TOKEN),
        deliverableCount: "1",
        refunds: [],
        deliverables: {
          nodes: [
            { deliverableId: "task-1", modelRoot: root, acknowledged: false, settled: false, file: { root } },
          ],
        },
      },
    ]);

    await act(
      user,
      `prepareAcknowledgeDeliverable(provider: "${PROVIDER.address}", deliverableId: "task-1")`,
    );
    await act(user, `prepareRetrieveFund(providers: ["${PROVIDER.address}"], service: FINE_TUNING)`);
    const later = (await user.ask(query, variables)).data.account.direct.fineTuningAccounts.nodes[0];
    expect(later.deliverables.nodes[0]).toMatchObject({ acknowledged: true });
    expect(later.refunds).toMatchObject([{ amount: String(2n * TOKEN) }]);
    expect(
      await refusal(
        user,
        `prepareAcknowledgeDeliverable(provider: "${PROVIDER.address}", deliverableId: "none")`,
      ),
    ).toEqual(["contract_refused", "DeliverableNotExists(none)"]);
  });

  test("the old version is selected by its name, or by a time in its history before 2026-02-12", async () => {
    const user = await newWalletUser(stack());
    await act(user, `prepareAddLedger(amount: "${3n * TOKEN}")`);
    await act(user, transfer(1n, "FINE_TUNING_V1_0"));
    const { data } = await user.ask(
      `query ($a: Address!) {
        fineTuningVersions { version address }
        old: fineTuning(at: "2026-02-11T23:59:59Z") { version } new: fineTuning(at: "2026-02-12T00:00:00Z") { version }
        account(address: $a) { direct {
          now: fineTuningAccounts { nodes { balance } }
          before: fineTuningAccounts(at: "2026-01-01T00:00:00Z") { nodes { balance } }
          named: fineTuningAccount(provider: "${PROVIDER.address}", version: V1_0) { balance } } } }`,
      { a: user.address },
    );
    const { fineTuning, fineTuningV10 } = contractAddresses();
    expect(data.fineTuningVersions).toEqual([
      { version: "V1_1", address: fineTuning },
      { version: "V1_0", address: fineTuningV10 },
    ]);
    expect([data.old.version, data.new.version]).toEqual(["V1_0", "V1_1"]);
    const one = { balance: String(TOKEN) };
    expect(data.account.direct).toEqual({ now: { nodes: [] }, before: { nodes: [one] }, named: one });
  });

  test("a version and a time together are refused", async () => {
    const user = await newWalletUser(stack());
    const { errors } = await user.ask(
      '{ fineTuning(version: V1_0, at: "2026-02-11T00:00:00Z") { version } }',
    );
    expect(errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter", param: "at" });
  });
});

test("over subgraph processes every read gives the same result", async () => {
  const ends: (() => Promise<unknown>)[] = [];
  onTestFinished(async () => {
    for (const end of ends) await end();
  });
  const remote = await startRemoteGateway(stack(), (end) => void ends.unshift(end));
  const user = await newWalletUser(stack());
  await act(user, `prepareAddLedger(amount: "${4n * TOKEN}")`);
  await act(user, transfer(2n));
  await act(user, transfer(1n, "FINE_TUNING"));
  const query = `query ($a: Address!, $p: Address!, $v: FineTuningVersion) {
    network { endpoints { state chainId } tokens { kind chainId address } } networks { id endpoints { state } }
    daSigners { epochNumber isSigner(account: $p) } wrappedBase { wrappedToken minterSupply(minter: $p) { remaining } }
    fineTuning(version: $v) { version services { nodes { providerAddress } } }
    prepareTransferFund(provider: $p, service: FINE_TUNING_V1_0, amount: "5") { to data value warnings }
    refused: prepareTransferFund(provider: $p, service: INFERENCE, amount: "5${"0".repeat(30)}", from: $a) { to }
    operatorNode { diagnose(message: "-38002") { kind } switchPlan(from: RETH, to: GETH) { steps { stepId } } }
    account(address: $a) { balance { total } direct { ledger { available locked }
      subAccounts { nodes { balance provider { address onChain { modelId } } } }
      fineTuningAccounts(version: $v) { nodes { balance deliverables { nodes { deliverableId } } } } } } }`;
  const variables = { a: user.address, p: PROVIDER.address, v: "V1_1" };
  const near = await user.ask(query, variables);
  const far = await ask(remote.origin, user.secret, query, variables);
  expect(readable(near)).toMatchObject([["refused", "contract_refused", expect.any(String)]]);
  expect(near.data.network.endpoints).toEqual([{ state: "READY", chainId: 16_602 }]);
  expect({ data: far.data, errors: readable(far) }).toEqual({ data: near.data, errors: readable(near) });
});

function readable({ errors = [] }: GraphResult) {
  return errors.map(({ path, extensions, message }) => [path?.join("."), extensions?.code, message]);
}
