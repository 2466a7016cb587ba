import { encodeFunctionData, size } from "viem";
import { agentNftAbi } from "../../chain/abi/agent-nft.ts";
import { ledgerManagerAbi } from "../../chain/abi/ledger-manager.ts";
import { type ContractName, NETWORKS } from "../../chain/networks.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { DEPLOYER } from "./accounts.ts";
import { type Call, connectDevnet, type DevnetClient, sendAll } from "./chain-client.ts";
import { DEPLOYED, type Deployed, deployments, FACTORY } from "./deployments.ts";
import { placePrecompiles } from "./precompiles.ts";

/** The addresses of the development network's contracts. */
export type DevnetContracts = Readonly<Record<Exclude<Deployed, "daSigners" | "wrappedBase">, Hex>>;

const CALL_GAS = 1_000_000n;
/** Covers calldata, the code deposit and the constructor. */
const GAS_PER_CODE_BYTE = 250n;

/**
 * The addresses of the contracts, which depend only on their code (CREATE2): the same on every development chain, and
 * different as soon as a contract changes.
 */
export function contractAddresses(): DevnetContracts {
  const { daSigners, wrappedBase, ...placed } = deployments();
  const addresses = Object.entries(placed).map(([name, { address }]) => [name, address]);
  return Object.fromEntries(addresses) as DevnetContracts;
}

/** The same addresses, by the names in a network's table. */
export function networkContracts(contracts: DevnetContracts): Readonly<Partial<Record<ContractName, Hex>>> {
  return {
    routerVault: contracts.vault,
    computeLedger: contracts.ledger,
    computeInference: contracts.inference,
    computeFineTuning: contracts.fineTuning,
    computeFineTuningV10: contracts.fineTuningV10,
    flow: contracts.flow,
    agentNft: contracts.agentNft,
    agentMarket: contracts.agentMarket,
    daSigners: NETWORKS.testnet.contracts.daSigners.address,
    wrappedBase: NETWORKS.testnet.contracts.wrappedBase.address,
  };
}

/**
 * Deploys every missing contract to the development chain, places the stand-ins for precompiles, makes the market a
 * minter of agent tokens, and registers the direct path's services with the ledger. On a chain restored from disk
 * nothing is sent.
 */
export async function deployContracts(rpcUrl: string): Promise<DevnetContracts> {
  const client = await connectDevnet(rpcUrl, DEPLOYER.privateKey);
  const wanted = deployments();
  const codes = await Promise.all(DEPLOYED.map((name) => client.getCode({ address: wanted[name].address })));
  const missing = DEPLOYED.filter((_, index) => !codes[index]).map((name) => wanted[name].data);
  await sendAll(client, missing.map(creation));
  const contracts = contractAddresses();
  const { daSigners, wrappedBase, wrappedToken } = wanted;
  const calls = await Promise.all([
    registrations(client, contracts),
    grants(client, contracts),
    placePrecompiles(client, {
      daSigners: daSigners.address,
      wrappedBase: wrappedBase.address,
      wrappedToken: wrappedToken.address,
    }),
  ]);
  await sendAll(client, calls.flat());
  return contracts;
}

function creation(data: Hex): Call {
  return { to: FACTORY, data, gas: CALL_GAS + GAS_PER_CODE_BYTE * BigInt(size(data)) };
}

async function registrations(client: DevnetClient, contracts: DevnetContracts): Promise<readonly Call[]> {
  const { inference, fineTuning, fineTuningV10, ledger } = contracts;
  const wanted = [
    { type: "inference", version: "v1.0", address: inference, isRecommended: true },
    { type: "fine-tuning", version: "v1.0", address: fineTuningV10, isRecommended: false },
    { type: "fine-tuning", version: "v1.1", address: fineTuning, isRecommended: true },
  ] as const;
  const registry = { address: ledger, abi: ledgerManagerAbi } as const;
  const known = await client.readContract({ ...registry, functionName: "getAllActiveServices" });
  return wanted.flatMap(({ type, version, address, isRecommended }) => {
    const row = known.find(({ serviceAddress }) => serviceAddress === address);
    const register = encodeFunctionData({
      abi: ledgerManagerAbi,
      functionName: "registerService",
      args: [type, version, address, "Development network"],
    });
    const recommend = encodeFunctionData({
      abi: ledgerManagerAbi,
      functionName: "setRecommendedService",
      args: [type, version],
    });
    return [
      ...(row ? [] : [{ to: ledger, data: register, gas: CALL_GAS }]),
      ...(row?.isRecommended || !isRecommended ? [] : [{ to: ledger, data: recommend, gas: CALL_GAS }]),
    ];
  });
}

async function grants(
  client: DevnetClient,
  { agentNft, agentMarket }: DevnetContracts,
): Promise<readonly Call[]> {
  const token = { address: agentNft, abi: agentNftAbi } as const;
  const role = await client.readContract({ ...token, functionName: "MINTER_ROLE" });
  if (await client.readContract({ ...token, functionName: "hasRole", args: [role, agentMarket] })) return [];
  const data = encodeFunctionData({ abi: agentNftAbi, functionName: "grantMinterRole", args: [agentMarket] });
  return [{ to: agentNft, data, gas: CALL_GAS }];
}
