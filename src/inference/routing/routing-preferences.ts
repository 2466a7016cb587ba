import type { Hex } from "../../kernel/text/hex.ts";
import type { TrustFloor } from "../../keys/api-keys/key-settings.ts";

/** Dollars times 10^18: exact for every amount that a header may state. */
export type Usd = bigint;

/** The most that a client wants to pay: dollars for a million tokens, or for one image. */
export type PriceCaps = {
  readonly prompt?: Usd | undefined;
  readonly completion?: Usd | undefined;
  readonly image?: Usd | undefined;
};

/** How a client steers the choice of its provider (SPEC 4.2, facts 1.4). All of it is optional. */
export type RoutingPreferences = {
  readonly sort?: "latency" | "price" | undefined;
  /** The one provider to ask, in lower case: no other is asked in its place. */
  readonly pin?: Hex | undefined;
  /** Whether another provider may be asked when the first fails; true unless told. */
  readonly allowFallbacks?: boolean | undefined;
  readonly trustMode?: TrustFloor | undefined;
  readonly caps?: PriceCaps | undefined;
};

/** A client that leaves everything to the router. */
export const NO_PREFERENCES: RoutingPreferences = {};

const DECIMAL = /^(0|[1-9]\d{0,11})(?:\.(\d{1,18}))?$/;
const USD_DIGITS = 18;

/** Reads a decimal of at most 12 digits before and 18 behind the point, exactly; undefined for all else (promises F13). */
export function readUsd(text: string): Usd | undefined {
  const match = DECIMAL.exec(text);
  return match ? BigInt((match[1] ?? "") + (match[2] ?? "").padEnd(USD_DIGITS, "0")) : undefined;
}
