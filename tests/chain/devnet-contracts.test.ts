import { type Abi, erc20Abi, parseAbi, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { daSignersAbi } from "../../src/chain/abi/da-signers.ts";
import { fineTuningServingAbi } from "../../src/chain/abi/fine-tuning-serving.ts";
import { ledgerManagerAbi } from "../../src/chain/abi/ledger-manager.ts";
import { wrappedBaseAbi } from "../../src/chain/abi/wrapped-base.ts";
import { NETWORKS } from "../../src/chain/networks.ts";
import { refusalOf } from "../../src/chain/rpc/contract-error.ts";
import { DEMO_USER, DEPLOYER, PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { type Anvil, DEVNET_CHAIN_ID, startAnvil } from "../../src/devnet/chain/anvil.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses, deployContracts } from "../../src/devnet/chain/deploy.ts";
import { wrappedBaseControlAbi } from "../../src/devnet/chain/precompiles.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";

const { ledger, fineTuning, fineTuningV10, wrappedToken } = contractAddresses();
const { daSigners, wrappedBase } = NETWORKS.testnet.contracts;
const LEDGER = { address: ledger, abi: ledgerManagerAbi } as const;
const TUNING = { address: fineTuning, abi: fineTuningServingAbi } as const;
const USER = DEMO_USER.address;
const SERVICE = "fine-tuning-v1.1";

let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil();
  await deployContracts(anvil.url);
});
afterAll(() => anvil?.stop());

/** Sends a call and waits for it; throws the contract's refusal. */
async function send(
  byKey: Hex,
  contract: { readonly address: Hex; readonly abi: Abi },
  functionName: string,
  args: readonly unknown[],
  value = 0n,
): Promise<void> {
  const client = await connectDevnet(anvil.url, byKey);
  await mined(client, await client.writeContract({ ...contract, functionName, args, value }));
}

async function refusal(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "taken",
    (error) => refusalOf(error) ?? String(error),
  );
}

test("both versions of fine-tuning are in the ledger's registry, and the newer one is recommended", async () => {
  const client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
  const named = (name: string) =>
    client.readContract({ ...LEDGER, functionName: "getServiceAddressByName", args: [name] });
  expect([await named("fine-tuning-v1.0"), await named(SERVICE)]).toEqual([fineTuningV10, fineTuning]);
  const recommended = { ...LEDGER, functionName: "getRecommendedService", args: ["fine-tuning"] } as const;
  expect(await client.readContract(recommended)).toEqual(["v1.1", fineTuning]);
});

test("a fine-tuned model is delivered and paid: in full when the user accepts it, otherwise by the penalty", async () => {
  const client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
  const quota = { cpuCount: 8n, nodeMemory: 64n, gpuCount: 1n, nodeStorage: 1_000n, gpuType: "H100" };
  const service = ["http://127.0.0.1:1", quota, 5n, false, ["base-model"], PROVIDER.address];
  expect(await refusal(send(PROVIDER.privateKey, TUNING, "addOrUpdateService", service, 1n))).toBe(
    "InsufficientStake(1, 100000000000000000000)",
  );
  await send(PROVIDER.privateKey, TUNING, "addOrUpdateService", service, parseEther("100"));
  await send(DEMO_USER.privateKey, LEDGER, "addLedger", [""], parseEther("3"));
  await send(DEMO_USER.privateKey, LEDGER, "transferFund", [PROVIDER.address, SERVICE, parseEther("2")]);

  const deliver = (id: string) => send(PROVIDER.privateKey, TUNING, "addDeliverable", [USER, id, "0x01"]);
  await deliver("first");
  expect(await refusal(deliver("second"))).toBe("PreviousDeliverableNotAcknowledged(first)");
  await send(DEMO_USER.privateKey, TUNING, "acknowledgeDeliverable", [PROVIDER.address, "first"]);
  const fee = 10n ** 17n;
  const paid = { id: "first", encryptedSecret: "0xabcd", nonce: 1n, taskFee: fee } as const;
  expect(await refusal(settle(paid))).toBe("InvalidVerifierInput(TEE signer not acknowledged)");
  await send(DEPLOYER.privateKey, TUNING, "acknowledgeTEESignerByOwner", [PROVIDER.address]);
  expect(await refusal(settle(paid, DEMO_USER.privateKey))).toBe(
    "InvalidVerifierInput(TEE settlement validation failed)",
  );
  expect(await refusal(settle({ ...paid, encryptedSecret: "0x" }))).toBe("SecretShouldNotBeEmpty()");
  await settle(paid);
  expect(await refusal(settle(paid))).toBe(
    "InvalidVerifierInput(nonce should larger than the current nonce)",
  );
  await deliver("second");
  await settle({ id: "second", encryptedSecret: "0x", nonce: 2n, taskFee: fee });

  const left = parseEther("2") - fee - (fee * 30n) / 100n;
  const account = { ...TUNING, functionName: "getAccount", args: [USER, PROVIDER.address] } as const;
  expect(await client.readContract(account)).toMatchObject({
    balance: left,
    nonce: 2n,
    deliverables: [
      { id: "first", encryptedSecret: "0xabcd", acknowledged: true, settled: true },
      { id: "second", encryptedSecret: "0x", acknowledged: false, settled: true },
    ],
  });
  expect(await client.readContract({ ...LEDGER, functionName: "getLedger", args: [USER] })).toMatchObject({
    availableBalance: parseEther("1"),
    totalBalance: parseEther("1") + left,
  });
});

test("the stand-ins of precompiles return what they were given", async () => {
  const client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
  const signers = { address: daSigners.address, abi: daSignersAbi } as const;
  expect(await client.readContract({ ...signers, functionName: "epochNumber" })).toBe(1n);
  expect(await client.readContract({ ...signers, functionName: "getQuorum", args: [1n, 0n] })).toEqual([
    PROVIDER.address,
  ]);
  const [signer] = await client.readContract({
    ...signers,
    functionName: "getSigner",
    args: [[PROVIDER.address]],
  });
  expect(signer).toMatchObject({ signer: PROVIDER.address, pkG1: { X: 1n, Y: 2n } });
  const base = { address: wrappedBase.address, abi: wrappedBaseAbi } as const;
  expect(await client.readContract({ ...base, functionName: "getWA0GI" })).toBe(wrappedToken);
});

test("the wrapped token is minted within the minter's quota, for real coins, and burned again", async () => {
  const client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
  const base = { address: wrappedBase.address, abi: [...wrappedBaseAbi, ...wrappedBaseControlAbi] } as const;
  const token = {
    address: wrappedToken,
    abi: [...erc20Abi, ...parseAbi(["function mint(address, uint256)", "function burn(address, uint256)"])],
  } as const;
  await send(DEMO_USER.privateKey, base, "setMinterCap", [USER, 100n, 0n]);
  await send(DEMO_USER.privateKey, token, "mint", [USER, 60n]);
  expect(await refusal(send(DEMO_USER.privateKey, token, "mint", [USER, 41n]))).toBe(
    "WrappedA0GIBase: insufficient mint cap",
  );
  await send(DEMO_USER.privateKey, token, "burn", [USER, 10n]);
  expect(await client.getBalance({ address: wrappedToken })).toBe(50n);
  expect(await client.readContract({ ...token, functionName: "balanceOf", args: [USER] })).toBe(50n);
  expect(await client.readContract({ ...base, functionName: "minterSupply", args: [USER] })).toEqual({
    cap: 100n,
    initialSupply: 0n,
    supply: 50n,
  });
  expect(await refusal(send(DEMO_USER.privateKey, base, "mint", [USER, 1n]))).toBe(
    "WrappedA0GIBase: sender is not WA0GI",
  );
});

type Settlement = {
  readonly id: string;
  readonly encryptedSecret: Hex;
  readonly nonce: bigint;
  readonly taskFee: bigint;
};

/** The text that the provider's enclave signs, and the transaction with it. */
async function settle(settlement: Settlement, signerKey: Hex = PROVIDER.privateKey): Promise<void> {
  const message = { ...settlement, modelRootHash: "0x01", user: USER } as const;
  const signature = await privateKeyToAccount(signerKey).signTypedData({
    domain: {
      name: "0G Fine-Tuning Serving",
      version: "1",
      chainId: DEVNET_CHAIN_ID,
      verifyingContract: fineTuning,
    },
    types: {
      VerifierMessage: [
        { name: "id", type: "string" },
        { name: "encryptedSecret", type: "bytes" },
        { name: "modelRootHash", type: "bytes" },
        { name: "nonce", type: "uint256" },
        { name: "taskFee", type: "uint256" },
        { name: "user", type: "address" },
      ],
    },
    primaryType: "VerifierMessage",
    message,
  });
  await send(PROVIDER.privateKey, TUNING, "settleFees", [{ ...message, signature }]);
}
