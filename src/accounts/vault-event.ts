import { type AbiEvent, decodeEventLog, parseAbiItem, toEventSelector } from "viem";
import { type Hex, isAddress, lowerHex } from "../kernel/text/hex.ts";

/** How the vault says that money came in. The public network's vault ABI is not published, hence configuration. */
export type VaultEventConfig = {
  /** As Solidity writes it, with names: `event Deposited(address indexed account, uint256 amount)`. */
  readonly event: string;
  /** Which of its arguments is who is credited, and which is how much in neuron. */
  readonly accountArgument: string;
  readonly amountArgument: string;
};

/** What our own vault emits. */
export const DEFAULT_VAULT_EVENT: VaultEventConfig = {
  event: "event Deposited(address indexed account, uint256 amount)",
  accountArgument: "account",
  amountArgument: "amount",
};

/** The event as logs are matched and read by it. */
export type VaultEvent = {
  readonly topic: Hex;
  /** Throws for a log that the configured event does not fit, such as one with other arguments indexed. */
  decode(log: { readonly topics: readonly Hex[]; readonly data: Hex }): {
    readonly account: Hex;
    readonly amount: bigint;
  };
};

/** Reads the configuration. Throws a line for the operator when it is no event with these two arguments. */
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
        throw new Error(`a log does not fit the vault event '${event}'`);
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
