import { type AbiEvent, decodeEventLog, parseAbiItem, toEventSelector } from "viem";
import { type Hex, isAddress, lowerHex } from "../kernel/text/hex.ts";

/** The vault's deposit event. The public network's vault ABI is not published, hence configuration. */
export type VaultEventConfig = {
  /** In Solidity syntax, with names: `event Deposited(address indexed account, uint256 amount)`. */
  readonly event: string;
  /** The arguments that hold the credited account and the amount in neuron. */
  readonly accountArgument: string;
  readonly amountArgument: string;
};

/** The event of our own vault. */
export const DEFAULT_VAULT_EVENT: VaultEventConfig = {
  event: "event Deposited(address indexed account, uint256 amount)",
  accountArgument: "account",
  amountArgument: "amount",
};

/** The parsed event, which matches and decodes logs. */
export type VaultEvent = {
  readonly topic: Hex;
  /** Throws for a log that does not match the configured event, such as one with other arguments indexed. */
  decode(log: { readonly topics: readonly Hex[]; readonly data: Hex }): {
    readonly account: Hex;
    readonly amount: bigint;
  };
};

/** Parses the configuration. Throws a message for the operator if it is not an event with these two arguments. */
export function parseVaultEvent({ event, accountArgument, amountArgument }: VaultEventConfig): VaultEvent {
  const item = parseEvent(event);
  requireArgument(item, accountArgument, /^address$/);
  requireArgument(item, amountArgument, /^uint\d*$/);
  return {
    topic: lowerHex(toEventSelector(item)),
    decode({ topics, data }) {
      const [topic, ...indexed] = topics;
      const log = decodeEventLog({ abi: [item], topics: topic ? [topic, ...indexed] : [], data });
      const args = new Map<string, unknown>(Object.entries(log.args ?? {}));
      const account = args.get(accountArgument);
      const amount = args.get(amountArgument);
      if (typeof account !== "string" || !isAddress(account) || typeof amount !== "bigint")
        throw new Error(`a log does not match the vault event '${event}'`);
      return { account: lowerHex(account), amount };
    },
  };
}

function parseEvent(text: string): AbiEvent {
  const item: unknown = parseAbiItem(text);
  if (typeof item === "object" && item !== null && "type" in item && item.type === "event")
    return item as AbiEvent;
  throw new Error(`The vault event '${text}' is not a Solidity event.`);
}

function requireArgument(event: AbiEvent, name: string, type: RegExp): void {
  const input = event.inputs.find((candidate) => candidate.name === name);
  if (!input || !type.test(input.type))
    throw new Error(`The vault event ${event.name} has no argument '${name}' of the type ${type.source}.`);
}
