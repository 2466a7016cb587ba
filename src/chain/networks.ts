import { AppError } from "../kernel/errors.ts";
import type { Hex } from "../kernel/text/hex.ts";

/** The values of `NETWORK`. `devnet` is the local development chain; its addresses are known once it runs. */
export const NETWORK_NAMES = ["testnet", "mainnet", "devnet"] as const;
export type NetworkName = (typeof NETWORK_NAMES)[number];

/** The contracts that a network lists (SPEC 2.1), those of agent tokens (SPEC 2.5), and the router's deposit vault. */
export const CONTRACT_NAMES = [
  "flow",
  "mine",
  "reward",
  "computeLedger",
  "computeInference",
  "computeFineTuning",
  "computeFineTuningV10",
  "daEntrance",
  "daSigners",
  "wrappedBase",
  "agentNft",
  "agentMarket",
  "routerVault",
] as const;
export type ContractName = (typeof CONTRACT_NAMES)[number];

/** A contract's address. Where there is none, `note` gives the reason. */
export type ContractPlace = { readonly address: Hex | null; readonly note: string | null };

/**
 * A form of the network's token: the native gas token, which has no contract, the wrapped token on the same network,
 * or a token bridged to another chain.
 */
export type NetworkToken = {
  readonly kind: "native" | "wrapped" | "bridged";
  /** The chain that the token lives on. */
  readonly chainId: number;
  readonly symbol: string;
  readonly decimals: number;
  readonly address: Hex | null;
};

/** A network's parameters (SPEC 2.1) and its public addresses. Block numbers are `null` where none applies. */
export type Network = {
  readonly id: NetworkName;
  readonly chainId: number;
  /** In the spelling of SPEC. */
  readonly chainIdHex: Hex;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** The testnet URL is for development only; production needs a third-party endpoint (SPEC 2.1). */
  readonly rpcUrls: readonly string[];
  readonly explorerUrl: string | null;
  readonly storageExplorerUrl: string | null;
  readonly indexerUrl: string | null;
  readonly storageStartBlock: bigint;
  readonly daStartBlock: bigint | null;
  /** Tokens per day, as a decimal string. */
  readonly faucetPerDay: string | null;
  readonly tokens: readonly NetworkToken[];
  readonly contracts: Readonly<Record<ContractName, ContractPlace>>;
};

const TOKEN = { symbol: "0G", decimals: 18 } as const;
const BRIDGED_0G = "0x4B948d64dE1F71fCd12fB586f4c776421a35b3eE";
const ETHEREUM = 1;
const BNB_CHAIN = 56;
const TESTNET_ID = { chainId: 16_602, chainIdHex: "0x40DA" } as const;

const PRECOMPILES = {
  daSigners: at("0x0000000000000000000000000000000000001000"),
  wrappedBase: at("0x0000000000000000000000000000000000001002"),
} as const;

const NO_AGENT_NFT = "No address is published: set AGENT_CONTRACTS to choose the contracts to read.";
const NO_AGENT_MARKET = "No address is published: set AGENT_MARKET to choose the market to read.";

/** Every network's parameters (SPEC 2.1; addresses from facts: router-and-chain sections 1.6, 2 and 5). */
export const NETWORKS = {
  testnet: {
    id: "testnet",
    ...TESTNET_ID,
    name: "0G Galileo Testnet",
    ...TOKEN,
    rpcUrls: ["https://evmrpc-testnet.0g.ai"],
    explorerUrl: "https://chainscan-galileo.0g.ai",
    storageExplorerUrl: "https://storagescan-galileo.0g.ai",
    indexerUrl: "https://indexer-storage-testnet-turbo.0g.ai",
    storageStartBlock: 1n,
    daStartBlock: 940_000n,
    faucetPerDay: "0.1",
    tokens: [native(16_602)],
    contracts: {
      ...PRECOMPILES,
      flow: at("0x22E03a6A89B950F1c82ec5e74F8eCa321a105296"),
      mine: at("0x00A9E9604b0538e06b268Fb297Df333337f9593b"),
      reward: at("0xA97B57b4BdFEA2D0a25e535bd849ad4e6C440A69"),
      computeLedger: at("0xE70830508dAc0A97e6c087c75f402f9Be669E406"),
      computeInference: at("0xa79F4c8311FF93C06b8CfB403690cc987c93F91E"),
      computeFineTuning: at("0xC6C075D8039763C8f1EbE580be5ADdf2fd6941bA"),
      computeFineTuningV10: at("0x562a07530BdE7fe867E84f5a278829Ab5463E92a"),
      daEntrance: none(
        "No testnet address is published (one page prints 0xE75A073dA5bb7b0eC622170Fd268f35E675a957B).",
      ),
      agentNft: none(NO_AGENT_NFT),
      agentMarket: none(NO_AGENT_MARKET),
      routerVault: at("0x0AD9690e0b34aB2d493DE02cDF149ee34f6C9939"),
    },
  },
  mainnet: {
    id: "mainnet",
    chainId: 16_661,
    chainIdHex: "0x4115",
    name: "0G Mainnet",
    ...TOKEN,
    rpcUrls: ["https://evmrpc.0g.ai"],
    explorerUrl: "https://chainscan.0g.ai",
    storageExplorerUrl: "https://storagescan.0g.ai",
    indexerUrl: "https://indexer-storage-turbo.0g.ai",
    storageStartBlock: 2_387_557n,
    daStartBlock: null,
    faucetPerDay: null,
    // From the network's page of token addresses, 2026-09-16.
    tokens: [
      native(16_661),
      {
        kind: "wrapped",
        chainId: 16_661,
        symbol: "W0G",
        decimals: 18,
        address: "0x1Cd0690fF9a693f5EF2dD976660a8dAFc81A109c",
      },
      { kind: "bridged", chainId: ETHEREUM, ...TOKEN, address: BRIDGED_0G },
      { kind: "bridged", chainId: BNB_CHAIN, ...TOKEN, address: BRIDGED_0G },
    ],
    contracts: {
      ...PRECOMPILES,
      flow: at("0x62D4144dB0F0a6fBBaeb6296c785C71B3D57C526"),
      mine: at("0xCd01c5Cd953971CE4C2c9bFb95610236a7F414fe"),
      reward: at("0x457aC76B58ffcDc118AABD6DbC63ff9072880870"),
      computeLedger: at("0x2dE54c845Cd948B72D2e32e39586fe89607074E3"),
      computeInference: at("0x47340d900bdFec2BD393c626E12ea0656F938d84"),
      computeFineTuning: at("0x4e3474095518883744ddf135b7E0A23301c7F9c0"),
      computeFineTuningV10: {
        address: "0x4e3474095518883744ddf135b7E0A23301c7F9c0",
        note: "The current version is 1.0.",
      },
      daEntrance: none("Data availability is not listed for mainnet."),
      agentNft: none(NO_AGENT_NFT),
      agentMarket: none(NO_AGENT_MARKET),
      routerVault: at("0xA3b15Bd2aD18BFB6b5f92D8AA9F444Dd59d1cE32"),
    },
  },
  devnet: {
    id: "devnet",
    ...TESTNET_ID,
    name: "zerograph development network",
    ...TOKEN,
    rpcUrls: [],
    explorerUrl: null,
    storageExplorerUrl: null,
    indexerUrl: null,
    storageStartBlock: 0n,
    daStartBlock: null,
    faucetPerDay: null,
    tokens: [native(16_602)],
    contracts: {
      flow: undeployed(),
      mine: undeployed(),
      reward: undeployed(),
      computeLedger: undeployed(),
      computeInference: undeployed(),
      computeFineTuning: undeployed(),
      computeFineTuningV10: undeployed(),
      daEntrance: undeployed(),
      daSigners: undeployed(),
      wrappedBase: undeployed(),
      agentNft: undeployed(),
      agentMarket: undeployed(),
      routerVault: undeployed(),
    },
  },
} as const satisfies Record<NetworkName, Network>;

/** A network of the table plus what is known only at run time: devnet addresses, the operator's RPC URLs. */
export function withAddresses(
  network: Network,
  known: {
    readonly rpcUrls?: readonly string[];
    readonly indexerUrl?: string;
    readonly contracts?: Readonly<Partial<Record<ContractName, Hex>>>;
  },
): Network {
  const contracts = { ...network.contracts };
  for (const name of CONTRACT_NAMES) {
    const address = known.contracts?.[name];
    if (address) contracts[name] = { address, note: null };
  }
  return {
    ...network,
    rpcUrls: known.rpcUrls ?? network.rpcUrls,
    indexerUrl: known.indexerUrl ?? network.indexerUrl,
    contracts,
  };
}

/** A contract's address. Throws `contract_not_found`, with the reason, on a network without the contract. */
export function addressOf(network: Network, name: ContractName): Hex {
  const { address, note } = network.contracts[name];
  if (address) return address;
  throw new AppError("contract_not_found", `${network.name} has no contract ${name}. ${note ?? ""}`.trim());
}

function native(chainId: number) {
  return { kind: "native", chainId, ...TOKEN, address: null } as const;
}

function at<Address extends Hex>(address: Address): { readonly address: Address; readonly note: null } {
  return { address, note: null };
}

function none(note: string): ContractPlace {
  return { address: null, note };
}

function undeployed(): ContractPlace {
  return none("Not deployed on the development network.");
}
