// @module-tag large
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClient, http, parseEther } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inferenceServingAbi } from "../../src/chain/abi/inference-serving.ts";
import { ledgerManagerAbi } from "../../src/chain/abi/ledger-manager.ts";
import { vaultAbi } from "../../src/chain/abi/vault.ts";
import { DEMO_USER, DEPLOYER, PROVIDER, ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { depositToVault, fundRouterWallet, registerProvider } from "../../src/devnet/chain/actors.ts";
import { type Anvil, startAnvil } from "../../src/devnet/chain/anvil.ts";
import { connectDevnet, mined, revertName } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses, deployContracts } from "../../src/devnet/chain/deploy.ts";
import { scaled } from "../support/machine.ts";
import { until } from "../support/until.ts";

const { vault, ledger, inference } = contractAddresses();
const inferenceContract = { address: inference, abi: inferenceServingAbi } as const;
const ledgerContract = { address: ledger, abi: ledgerManagerAbi } as const;
const ROW = {
  providerKey: PROVIDER.privateKey,
  url: "http://127.0.0.1:1",
  model: "stand-in",
  inputPrice: 7n,
  outputPrice: 11n,
  serviceType: "chatbot",
  verifiability: "TeeML",
  additionalInfo: '{"ProviderType":"decentralized"}',
  teeSigner: PROVIDER.address,
} as const;

let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil();
  await deployContracts(anvil.url);
});
afterAll(() => anvil?.stop());

test("contracts are deployed once, always at the same addresses, and the service is recommended", async () => {
  const client = await connectDevnet(anvil.url, DEPLOYER.privateKey);
  const sent = await client.getTransactionCount(DEPLOYER);
  expect(await deployContracts(anvil.url)).toEqual(contractAddresses());
  expect(await client.getTransactionCount(DEPLOYER)).toBe(sent);
  expect(
    await client.readContract({
      ...ledgerContract,
      functionName: "getServiceAddressByName",
      args: ["inference-v1.0"],
    }),
  ).toBe(inference);
  expect(
    await client.readContract({
      ...ledgerContract,
      functionName: "getRecommendedService",
      args: ["inference"],
    }),
  ).toEqual(["v1.0", inference]);
});

test("a deposit event names the account it is for, whoever pays", async () => {
  const account = "0x00000000000000000000000000000000000000aa";
  await depositToVault(anvil.url, { fromKey: DEMO_USER.privateKey, account, amountNeuron: 5n });
  await depositToVault(anvil.url, { fromKey: DEMO_USER.privateKey, account, amountNeuron: 6n });
  const client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
  const deposit = { address: vault, abi: vaultAbi, functionName: "deposit" } as const;
  await mined(client, await client.writeContract({ ...deposit, value: 9n }));
  const logs = await client.getContractEvents({ ...deposit, eventName: "Deposited", fromBlock: 0n });
  expect(logs.map((log) => log.args)).toEqual([
    { account: expect.stringMatching(/aa$/i), amount: 5n },
    { account: expect.stringMatching(/aa$/i), amount: 6n },
    { account: DEMO_USER.address, amount: 9n },
  ]);
  expect(await client.readContract({ ...deposit, functionName: "balanceOf", args: [account] })).toBe(11n);
});

test("a provider is registered with its stake once, and rewritten only when its row differs", async () => {
  const client = await connectDevnet(anvil.url, PROVIDER.privateKey);
  const services = () =>
    client.readContract({ ...inferenceContract, functionName: "getAllServices", args: [0n, 50n] });
  expect(await registerProvider(anvil.url, ROW)).toBe(PROVIDER.address);
  const [[service], total] = await services();
  expect(total).toBe(1n);
  expect(service).toMatchObject({
    provider: PROVIDER.address,
    url: ROW.url,
    model: ROW.model,
    inputPrice: 7n,
    outputPrice: 11n,
    serviceType: "chatbot",
    teeSignerAddress: PROVIDER.address,
    teeSignerAcknowledged: true,
  });
  const sent = await client.getTransactionCount(PROVIDER);
  await registerProvider(anvil.url, ROW);
  expect(await client.getTransactionCount(PROVIDER)).toBe(sent);

  await registerProvider(anvil.url, { ...ROW, url: "http://127.0.0.1:2", teeSigner: DEMO_USER.address });
  expect((await services())[0]).toMatchObject([{ url: "http://127.0.0.1:2", teeSignerAcknowledged: true }]);
  expect(await client.getBalance({ address: inference })).toBe(parseEther("100"));
});

test("the router's wallet is funded through its ledger, once, and gets its money back after the lock", async () => {
  const client = await connectDevnet(anvil.url, ROUTER_WALLET.privateKey);
  const provider = PROVIDER.address;
  const read = async () => ({
    account: await client.readContract({
      ...inferenceContract,
      functionName: "getAccount",
      args: [ROUTER_WALLET.address, provider],
    }),
    ledger: await client.readContract({
      ...ledgerContract,
      functionName: "getLedger",
      args: [ROUTER_WALLET.address],
    }),
  });
  const funding = { routerKey: ROUTER_WALLET.privateKey, provider, subAccountNeuron: parseEther("2") };
  await fundRouterWallet(anvil.url, funding);
  expect((await read()).account).toMatchObject({
    balance: parseEther("2"),
    acknowledged: true,
    generation: 0n,
  });
  expect((await read()).ledger).toMatchObject({
    availableBalance: parseEther("1"),
    totalBalance: parseEther("3"),
  });
  expect(
    await client.readContract({
      ...ledgerContract,
      functionName: "getLedgerProviders",
      args: [ROUTER_WALLET.address, "inference-v1.0"],
    }),
  ).toEqual([provider]);

  const sent = await client.getTransactionCount(ROUTER_WALLET);
  await fundRouterWallet(anvil.url, funding);
  expect(await client.getTransactionCount(ROUTER_WALLET)).toBe(sent);
  await fundRouterWallet(anvil.url, { ...funding, subAccountNeuron: parseEther("5") });
  expect((await read()).account.balance).toBe(parseEther("5"));

  const retrieve = async () =>
    mined(
      client,
      await client.writeContract({
        ...ledgerContract,
        functionName: "retrieveFund",
        args: [[provider], "inference-v1.0"],
      }),
    );
  await retrieve();
  expect((await read()).account).toMatchObject({ balance: parseEther("5"), pendingRefund: parseEther("5") });
  await fundRouterWallet(anvil.url, { ...funding, subAccountNeuron: parseEther("1") });
  expect((await read()).account).toMatchObject({ balance: parseEther("5"), pendingRefund: parseEther("4") });
  const time = createTestClient({ mode: "anvil", transport: http(anvil.url) });
  await time.increaseTime({ seconds: 3_601 });
  await time.mine({ blocks: 1 });
  await retrieve();
  expect((await read()).account).toMatchObject({ balance: parseEther("1"), pendingRefund: parseEther("1") });
  expect((await read()).ledger).toMatchObject({
    availableBalance: parseEther("4"),
    totalBalance: parseEther("5"),
  });
});

test("the public network's minimums and limits apply", async () => {
  const client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
  const refusal = (write: Promise<unknown>) => write.then(() => "accepted", revertName);
  const addLedger = { ...ledgerContract, functionName: "addLedger", args: [""] } as const;
  expect(await refusal(client.writeContract({ ...addLedger, value: parseEther("2.9") }))).toBe(
    "MinimumDepositRequired",
  );
  await mined(client, await client.writeContract({ ...addLedger, value: parseEther("3") }));
  const transfer = { ...ledgerContract, functionName: "transferFund" } as const;
  const to = (amount: string, service = "inference-v1.0") =>
    refusal(client.writeContract({ ...transfer, args: [PROVIDER.address, service, parseEther(amount)] }));
  expect(await to("0.9")).toBe("MinimumDepositRequired");
  expect(await to("3.1")).toBe("InsufficientAvailableBalance");
  expect(await to("1", "inference-v9")).toBe("ServiceNotFound");
  const refund = { ...ledgerContract, functionName: "refund" } as const;
  expect(await refusal(client.writeContract({ ...refund, args: [1n] }))).toBe("MinimumDepositRequired");
  await mined(client, await client.writeContract({ ...refund, args: [parseEther("3")] }));

  const { providerKey: _, teeSigner, ...fields } = ROW;
  const add = {
    ...inferenceContract,
    functionName: "addOrUpdateService",
    args: [{ ...fields, teeSignerAddress: teeSigner }],
  } as const;
  expect(await refusal(client.writeContract({ ...add, value: parseEther("99") }))).toBe("InsufficientStake");
  const page = { ...inferenceContract, functionName: "getAllServices", args: [0n, 51n] } as const;
  expect(await refusal(client.readContract(page))).toBe("LimitTooLarge");
  const fund = { ...inferenceContract, functionName: "depositFund" } as const;
  expect(
    await refusal(
      client.writeContract({ ...fund, args: [DEMO_USER.address, PROVIDER.address, 0n], value: 1n }),
    ),
  ).toBe("CallerNotLedger");
});

test("a saved chain is restored as it was: blocks, logs, contracts", async () => {
  const folder = mkdtempSync(join(tmpdir(), "devnet-"));
  const stateFile = join(folder, "chain.json");
  const account = DEMO_USER.address;
  try {
    const before = await startAnvil({ stateFile });
    await deployContracts(before.url);
    await depositToVault(before.url, { fromKey: DEMO_USER.privateKey, account, amountNeuron: 42n });
    const height = await (await connectDevnet(before.url, DEMO_USER.privateKey)).getBlockNumber();
    await before.stop();

    const after = await startAnvil({ stateFile });
    await deployContracts(after.url);
    const client = await connectDevnet(after.url, DEMO_USER.privateKey);
    expect(await client.getBlockNumber()).toBe(height);
    const logs = await client.getContractEvents({ address: vault, abi: vaultAbi, fromBlock: 0n });
    expect(logs.map((log) => log.args)).toEqual([{ account, amount: 42n }]);
    await after.stop();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("with a block time empty blocks follow, and a transaction is still mined at once", async () => {
  const chain = await startAnvil({ blockTimeSeconds: 2 });
  await deployContracts(chain.url);
  const client = await connectDevnet(chain.url, DEMO_USER.privateKey);
  const startedAt = performance.now();
  await depositToVault(chain.url, {
    fromKey: DEMO_USER.privateKey,
    account: DEMO_USER.address,
    amountNeuron: 1n,
  });
  expect(performance.now() - startedAt).toBeLessThan(scaled(1_800));
  const height = await client.getBlockNumber({ cacheTime: 0 });
  await until(async () => expect(await client.getBlockNumber({ cacheTime: 0 })).toBeGreaterThan(height + 1n));
  await chain.stop();
});

test("a port in use is one clear error", async () => {
  await expect(startAnvil({ port: anvil.port })).rejects.toMatchObject({
    name: "StartupError",
    message: `The development chain's port ${anvil.port} is taken.`,
  });
});

test("an invalid state file is reported with the chain's own error", async () => {
  const stateFile = new URL(import.meta.url).pathname;
  await expect(startAnvil({ stateFile })).rejects.toMatchObject({ name: "StartupError" });
});

test("the chain ends with its parent process, even one killed by force", async () => {
  const script = `
    import { startAnvil } from "${new URL("../../src/devnet/chain/anvil.ts", import.meta.url)}";
    const { pid } = await startAnvil();
    console.log(pid);`;
  const parent = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script]);
  const [text] = await once(parent.stdout.setEncoding("utf8"), "data");
  const pid = Number(text);
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await until(async () => expect(isAlive(pid)).toBe(false));
});

test("nothing is ever sent to a chain that is not a development chain", async () => {
  const geth = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"jsonrpc":"2.0","id":1,"result":"Geth/v1.14"}');
  }).listen(0, "127.0.0.1");
  await once(geth, "listening");
  const address = geth.address();
  const port = typeof address === "object" && address ? address.port : 0;
  await expect(deployContracts(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ code: "chain_error" });
  geth.closeAllConnections();
  geth.close();
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
