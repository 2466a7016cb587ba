const DECIMALS = 18;
const UNIT = 10n ** BigInt(DECIMALS);
/** The largest amount of neuron that the gateway accepts. */
const MAX_NEURON = 2n ** 256n - 1n;
/** So many digits of an amount are shown at least, however small it is. */
const SIGNIFICANT = 2;

/**
 * Formats neuron as tokens. Without `places` the text is exact. With them it is rounded half up to so many decimals, or to
 * as many more as leave two significant digits. Trailing zeros are cut, unless `isFixed`: then the amounts of a column
 * have their points below each other.
 */
export function toTokens(
  neuron: string | bigint,
  places = DECIMALS,
  { isFixed = false }: { readonly isFixed?: boolean } = {},
): string {
  const value = BigInt(neuron);
  const size = value < 0n ? -value : value;
  if (size === 0n) return "0";
  const isExact = size % 10n ** BigInt(DECIMALS - places) === 0n;
  const least = isExact ? 0 : DECIMALS + SIGNIFICANT - size.toString().length;
  const decimals = Math.min(DECIMALS, Math.max(places, least));
  const step = 10n ** BigInt(DECIMALS - decimals);
  const rounded = ((size + step / 2n) / step) * step;
  const whole = (rounded / UNIT).toString().replaceAll(/\B(?=(\d{3})+$)/g, " ");
  const digits = (rounded % UNIT).toString().padStart(DECIMALS, "0").slice(0, decimals);
  const shown = isFixed ? digits : digits.replace(/0+$/, "");
  return `${value < 0n ? "−" : ""}${whole}${shown === "" ? "" : `.${shown}`}`;
}

/** The decimals with which all of these amounts of neuron are exact, at most 12: those of a column that adds up. */
export function placesOf(amounts: readonly bigint[]): number {
  const most = 12;
  const step = 10n ** BigInt(DECIMALS - most);
  for (let places = 0; places < most; places++) {
    const unit = 10n ** BigInt(DECIMALS - places);
    if (amounts.every((amount) => ((amount / step) * step) % unit === 0n)) return places;
  }
  return most;
}

/** Neuron as tokens for a form or a file: exact, and without separators. */
export function toPlainTokens(neuron: string | bigint): string {
  return toTokens(neuron).replaceAll(" ", "").replace("−", "-");
}

/** Parses a token amount into neuron; undefined if it is not an amount. */
export function toNeuron(tokens: string): string | undefined {
  const match = /^(\d{1,60})(?:\.(\d{1,18}))?$/.exec(tokens.trim());
  if (!match) return undefined;
  const neuron = BigInt(match[1] ?? "0") * UNIT + BigInt((match[2] ?? "").padEnd(DECIMALS, "0"));
  return neuron <= MAX_NEURON ? neuron.toString() : undefined;
}

/** The neuron of a JSON number of tokens, as near as a number is; undefined if it is not an amount. */
export function nearestNeuron(tokens: number): string | undefined {
  return toNeuron(tokens.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: DECIMALS }));
}

/** An amount as a number, for charts only. */
export function toChartValue(neuron: string): number {
  return Number(BigInt(neuron) / 10n ** 9n) / 1e9;
}

/** A size in bytes, in the largest unit up to GiB that is not below 1. */
export function bytes(size: string): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let [value, unit] = [Number(size), 0];
  while (value >= 1_024 && unit < units.length - 1) [value, unit] = [value / 1_024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** An amount of neuron in US dollars, as text; `usdPerToken` is the price of a token. */
export function toUsd(neuron: string | bigint, usdPerToken: number): string {
  const usd = (Number(BigInt(neuron)) / 1e18) * usdPerToken;
  const digits =
    Math.abs(usd) >= 1 || usd === 0 ? 2 : Math.min(12, 2 - Math.floor(Math.log10(Math.abs(usd))));
  return usd.toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: digits });
}
