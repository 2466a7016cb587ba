import { type Hex, isAddress, lowerHex } from "../../kernel/text/hex.ts";

/** The configured market, the token contract it trades, and the block to start reading at. In lower case. */
export type MarketContract = {
  readonly address: Hex;
  readonly token: Hex;
  readonly startBlock: bigint | undefined;
};

/**
 * Parses `0xMARKET/0xTOKEN@123`: no function of the market returns the token that it trades, so the text names
 * both. The deployment block is optional. Returns undefined for anything else.
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
