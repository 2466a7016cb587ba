import { type Hex, isAddress, lowerHex } from "../../../kernel/text/hex.ts";
import { AGENT_GENERATIONS, type AgentGeneration } from "../log/agent-event.ts";

/** A configured agent token contract, and the block to start reading at; by default the network's first block. */
export type AgentContract = {
  readonly address: Hex;
  readonly generation: AgentGeneration;
  readonly startBlock: bigint | undefined;
};

/** Each contract has its own watcher, which polls the chain every two seconds. */
export const MAX_AGENT_CONTRACTS = 16;

/**
 * Parses `agent-nft:0x...@123`: a generation (by default that of SPEC), an address, and an optional deployment block.
 * Returns undefined for anything else.
 */
export function parseAgentContract(text: string): AgentContract | undefined {
  const [, generation = "agent-nft", address = "", start] =
    /^(?:([a-z-]+):)?(0x[0-9a-fA-F]{40})(?:@(\d{1,18}))?$/.exec(text) ?? [];
  const known = AGENT_GENERATIONS.find((name) => name === generation);
  if (!known || !isAddress(address)) return undefined;
  return {
    address: lowerHex(address),
    generation: known,
    startBlock: start === undefined ? undefined : BigInt(start),
  };
}

/** The name of a contract's watcher. */
export function agentWatcherName({ address }: Pick<AgentContract, "address">): string {
  return `agent:${address}`;
}

/** The addresses of the configured contracts; with `wanted` only that one, if it is configured. */
export function configuredOf(contracts: readonly AgentContract[], wanted?: Hex): readonly Hex[] {
  const address = wanted && lowerHex(wanted);
  return contracts
    .map((contract) => contract.address)
    .filter((known) => address === undefined || known === address);
}
