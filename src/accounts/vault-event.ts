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

type VaultSettings = Readonly<
  Record<"VAULT_EVENT" | "VAULT_ACCOUNT_ARGUMENT" | "VAULT_AMOUNT_ARGUMENT", string>
>;

/** The event that the settings state. */
export function toVaultEvent(settings: VaultSettings): VaultEventConfig {
  return {
    event: settings.VAULT_EVENT,
    accountArgument: settings.VAULT_ACCOUNT_ARGUMENT,
    amountArgument: settings.VAULT_AMOUNT_ARGUMENT,
  };
}

/** The parsed event, which matches and decodes logs. */
export type VaultEvent = {
  readonly topic: Hex;
  /** Throws for a log that does not match the configured event, such as one with other arguments indexed. */
  decode(log: { readonly topics: readonly Hex[]; readonly data: Hex }): {
    readonly account: Hex;
    readonly amount: bigint;
  };
};

/** Parses the configuration. Throws an `Error` that names the setting if it is not an event with these two arguments. */
export function parseVaultEvent({ event, accountArgument, amountArgument }: VaultEventConfig): VaultEvent {
  const item = parseEvent(event);
  requireArgument(item, accountArgument, { setting: "VAULT_ACCOUNT_ARGUMENT", type: "address" });
  requireArgument(item, amountArgument, { setting: "VAULT_AMOUNT_ARGUMENT", type: "uint" });
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
  let item: unknown;
  try {
    item = parseAbiItem(text);
  } catch {
    // The parser's own message speaks of its source.
  }
  if (typeof item === "object" && item !== null && "type" in item && item.type === "event")
    return item as AbiEvent;
  throw new Error(
    `VAULT_EVENT: '${text}' is not a Solidity event, for example VAULT_EVENT='${DEFAULT_VAULT_EVENT.event}'`,
  );
}

function requireArgument(
  { name: event, inputs }: AbiEvent,
  name: string,
  { setting, type }: { readonly setting: string; readonly type: "address" | "uint" },
): void {
  const isFound = inputs.some((input) => input.name === name && input.type.replace(/\d+$/, "") === type);
  if (isFound) return;
  const known = inputs.map((input) => `${input.type} ${input.name ?? "without a name"}`).join(", ");
  throw new Error(
    `${setting}: the event ${event} has no argument '${name}' of the type ${type}; it has ${known}`,
  );
}
