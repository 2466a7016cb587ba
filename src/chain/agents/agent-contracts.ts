import { type Hex, isAddress, lowerHex } from "../../kernel/text/hex.ts";
import { AGENT_GENERATIONS, type AgentGeneration } from "./agent-event.ts";

/** A contract of agent tokens that is read, and from which block on; the network's own start without one. */
export type AgentContract = {
  readonly address: Hex;
  readonly generation: AgentGeneration;
  readonly startBlock: bigint | undefined;
};

/** Each contract has a watcher of its own, and so a round trip every two seconds. */
export const MAX_AGENT_CONTRACTS = 16;

/**
 * Reads `agent-nft:0x...@123`: a generation (without one, that of SPEC), an address, and the block of its deployment,
 * which may be left out. Undefined for anything else.
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
