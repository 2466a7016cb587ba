const DECIMALS = 18;
const UNIT = 10n ** BigInt(DECIMALS);

/** Formats neuron as tokens: exact, without trailing zeros; `places` limits the decimals. */
export function toTokens(neuron: string | bigint, places = DECIMALS): string {
  const value = BigInt(neuron);
  const size = value < 0n ? -value : value;
  const whole = (size / UNIT).toString().replaceAll(/\B(?=(\d{3})+$)/g, " ");
  const digits = (size % UNIT).toString().padStart(DECIMALS, "0");
  const shown = digits.slice(0, places).replace(/0+$/, "");
  const sign = value < 0n ? "−" : "";
  if (shown === "" && size % UNIT > 0n && size < UNIT)
    return `${sign}<0.${"0".repeat(Math.max(0, places - 1))}1`;
  return `${sign}${whole}${shown === "" ? "" : `.${shown}`}`;
}

/** Parses a token amount into neuron; undefined if it is not an amount. */
export function toNeuron(tokens: string): string | undefined {
  const match = /^(\d{1,12})(?:\.(\d{1,18}))?$/.exec(tokens.trim());
  if (!match) return undefined;
  return (BigInt(match[1] ?? "0") * UNIT + BigInt((match[2] ?? "").padEnd(DECIMALS, "0"))).toString();
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
