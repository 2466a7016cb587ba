import type { Hex } from "../../kernel/text/hex.ts";

/** The operator's own node. Undefined settings are not checked. No setting ever comes from a request. */
export type NodeSettings = {
  /** The wallets that may read the node, in lower case. */
  readonly operators: readonly string[];
  readonly consensusUrl: string | undefined;
  readonly executionUrl: string | undefined;
  readonly engineUrl: string | undefined;
  /** The JWT secret files of the consensus and the execution client. */
  readonly consensusJwtFile: string | undefined;
  readonly executionJwtFile: string | undefined;
  /** The consensus client's home directory, and the execution client's data directory. */
  readonly consensusHome: string | undefined;
  readonly executionData: string | undefined;
  /** The node's public host. */
  readonly publicAddress: string | undefined;
  /** Another operator's RPC of the same chain. */
  readonly publicRpcUrl: string | undefined;
  /** An RPC of the Ethereum mainnet, for restaking. */
  readonly ethRpcUrl: string | undefined;
  /** Consensus RPCs of other machines that have, or had, the same validator key. */
  readonly otherConsensusUrls: readonly string[];
  /** The ports that must be publicly reachable (SPEC 4.5). */
  readonly p2pPorts: { readonly consensus: number; readonly execution: number };
};

type Config = {
  readonly OPERATORS: readonly string[] | undefined;
  readonly NODE_OPERATORS: readonly Hex[] | readonly string[] | undefined;
  readonly NODE_CONSENSUS_URL: string | undefined;
  readonly NODE_EXECUTION_URL: string | undefined;
  readonly NODE_ENGINE_URL: string | undefined;
  readonly NODE_CONSENSUS_JWT_FILE: string | undefined;
  readonly NODE_EXECUTION_JWT_FILE: string | undefined;
  readonly NODE_CONSENSUS_HOME: string | undefined;
  readonly NODE_EXECUTION_DATA: string | undefined;
  readonly NODE_PUBLIC_ADDRESS: string | undefined;
  readonly NODE_PUBLIC_RPC_URL: string | undefined;
  readonly NODE_ETH_RPC_URL: string | undefined;
  readonly NODE_OTHER_CONSENSUS_URLS: readonly string[] | undefined;
};

/** SPEC 4.5. */
const P2P_PORTS = { consensus: 26_656, execution: 30_303 } as const;

/** The node's settings from the configuration. `rpcUrls` are the network's own. */
export function nodeSettings(config: Config, rpcUrls: readonly string[]): NodeSettings {
  return {
    operators: [...(config.NODE_OPERATORS ?? []), ...(config.OPERATORS ?? [])].map((address) =>
      address.toLowerCase(),
    ),
    consensusUrl: config.NODE_CONSENSUS_URL,
    executionUrl: config.NODE_EXECUTION_URL,
    engineUrl: config.NODE_ENGINE_URL,
    consensusJwtFile: config.NODE_CONSENSUS_JWT_FILE,
    executionJwtFile: config.NODE_EXECUTION_JWT_FILE,
    consensusHome: config.NODE_CONSENSUS_HOME,
    executionData: config.NODE_EXECUTION_DATA,
    publicAddress: config.NODE_PUBLIC_ADDRESS,
    publicRpcUrl: config.NODE_PUBLIC_RPC_URL ?? rpcUrls[0],
    ethRpcUrl: config.NODE_ETH_RPC_URL,
    otherConsensusUrls: config.NODE_OTHER_CONSENSUS_URLS ?? [],
    p2pPorts: P2P_PORTS,
  };
}
