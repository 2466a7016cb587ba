import { type Hex, isAddress, lowerHex } from "../../kernel/text/hex.ts";

/** The market that is read, the token contract that it trades, and from which block on it is followed. In lower case. */
export type MarketContract = {
  readonly address: Hex;
  readonly token: Hex;
  readonly startBlock: bigint | undefined;
};

/**
 * Reads `0xMARKET/0xTOKEN@123`: the market has no function that tells which token it trades, so both are named; the block
 * of its deployment may be left out. Undefined for anything else.
 */
export function parseMarketContract(text: string): MarketContract | undefined {
  const [, address = "", token = "", start] =
    /^(0x[0-9a-fA-F]{40})\/(0x[0-9a-fA-F]{40})(?:@(\d{1,18}))?$/.exec(text) ?? [];
  if (!isAddress(address) || !isAddress(token)) return undefined;
  return {
    address: lowerHex(address),
    token: lowerHex(token),
    startBlock: start === undefined ? undefined : BigInt(start),
  };
}
