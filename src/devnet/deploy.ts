import { concatHex, encodeAbiParameters, getCreate2Address, parseAbiParameters, zeroHash } from "viem";
import { ledgerManagerAbi } from "../chain/abi/ledger-manager.ts";
import type { Hex } from "../kernel/hex.ts";
import { DEPLOYER } from "./accounts.ts";
import { flowArtifact } from "./artifacts/flow.ts";
import { inferenceServingArtifact } from "./artifacts/inference-serving.ts";
import { ledgerManagerArtifact } from "./artifacts/ledger-manager.ts";
import { marketArtifact } from "./artifacts/market.ts";
import { vaultArtifact } from "./artifacts/vault.ts";
import { connectDevnet, type DevnetClient, mined } from "./chain-client.ts";

/** Where the development network's contracts are. */
export type DevnetContracts = {
  readonly vault: Hex;
  readonly ledger: Hex;
  readonly inference: Hex;
  readonly flow: Hex;
  readonly market: Hex;
};

/** What a sector of 256 bytes costs on the development network: 1 GB is about 0.004 tokens. */
const PRICE_PER_SECTOR_NEURON = 10n ** 9n;
const REFUND_LOCK_SECONDS = 3_600n;
const SERVICE = { type: "inference", version: "v1.0" } as const;
/** The CREATE2 factory that anvil has from its first block (and most public networks too). */
const FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

type Deployment = { readonly address: Hex; readonly creationCode: Hex };

/**
 * The addresses of the contracts, which follow from their code alone (CREATE2): the same on every development chain,
 * and others as soon as a contract changes.
 */
export function contractAddresses(): DevnetContracts {
  const { vault, ledger, inference, flow, market } = deployments();
  return {
    vault: vault.address,
    ledger: ledger.address,
    inference: inference.address,
    flow: flow.address,
    market: market.address,
  };
}

/**
 * Puts every contract that is missing on the development chain, and the inference service into the ledger's registry
 * as `inference-v1.0`, recommended. On a chain that was kept nothing is sent.
 */
export async function deployContracts(rpcUrl: string): Promise<DevnetContracts> {
  const client = await connectDevnet(rpcUrl, DEPLOYER.privateKey);
  for (const { address, creationCode } of Object.values(deployments())) {
    if (await client.getCode({ address })) continue;
    const data = concatHex([zeroHash, creationCode]);
    await mined(client, await client.sendTransaction({ to: FACTORY, data }));
  }
  const contracts = contractAddresses();
  await registerInference(client, contracts);
  return contracts;
}

function deployments(): Record<keyof DevnetContracts, Deployment> {
  const owner = encodeAbiParameters(parseAbiParameters("address"), [DEPLOYER.address]);
  const vault = deployment(vaultArtifact.bytecode);
  const ledger = deployment(ledgerManagerArtifact.bytecode, owner);
  const inference = deployment(
    inferenceServingArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("uint256, address, address"), [
      REFUND_LOCK_SECONDS,
      ledger.address,
      DEPLOYER.address,
    ]),
  );
  const price = encodeAbiParameters(parseAbiParameters("uint256"), [PRICE_PER_SECTOR_NEURON]);
  const market = deployment(marketArtifact.bytecode, price);
  const flow = deployment(
    flowArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("address"), [market.address]),
  );
  return { vault, ledger, inference, flow, market };
}

function deployment(bytecode: Hex, constructorArguments: Hex = "0x"): Deployment {
  const creationCode = concatHex([bytecode, constructorArguments]);
  return {
    creationCode,
    address: getCreate2Address({ from: FACTORY, salt: zeroHash, bytecode: creationCode }),
  };
}

async function registerInference(
  client: DevnetClient,
  { ledger, inference }: DevnetContracts,
): Promise<void> {
  const registry = { address: ledger, abi: ledgerManagerAbi } as const;
  const services = await client.readContract({ ...registry, functionName: "getAllActiveServices" });
  const row = services.find((service) => service.serviceAddress === inference);
  if (!row) {
    const args = [SERVICE.type, SERVICE.version, inference, "Development network"] as const;
    await mined(client, await client.writeContract({ ...registry, functionName: "registerService", args }));
  }
  if (row?.isRecommended) return;
  const args = [SERVICE.type, SERVICE.version] as const;
  await mined(
    client,
    await client.writeContract({ ...registry, functionName: "setRecommendedService", args }),
  );
}
