import { Tooltip } from "@mantine/core";
import type { ClipboardEvent } from "react";
import { toTokens, toUsd } from "../../data/amounts.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { useUsdPerToken } from "../../data/token-price.tsx";

/**
 * An amount of neuron in tokens, rounded to `places` decimals or to two significant digits. A click selects it; copied, it
 * is the exact neuron. The tooltip has the exact amount, with US dollars where the price of the token is known; `withUsd`
 * shows them beside it. `isCell` is for a column whose head names the unit: without it, and with all decimals.
 */
export function Amount({
  neuron,
  places = 6,
  withUsd = false,
  isCell = false,
}: {
  neuron: string;
  places?: number;
  withUsd?: boolean;
  isCell?: boolean;
}) {
  const { symbol } = useNetwork();
  const usdPerToken = useUsdPerToken();
  const usd = usdPerToken === undefined ? undefined : toUsd(neuron, usdPerToken);
  const copy = (event: ClipboardEvent) => {
    event.clipboardData.setData("text/plain", neuron);
    event.preventDefault();
  };
  return (
    <Tooltip label={`${toTokens(neuron)} ${symbol} (${neuron} neuron)${usd ? ` · ${usd}` : ""}`}>
      <span className="amount" onCopy={copy}>
        {toTokens(neuron, places, { isFixed: isCell })}
        {!isCell && <abbr title="the token of this network"> {symbol}</abbr>}
        {withUsd && usd && <span className="usd"> {usd}</span>}
      </span>
    </Tooltip>
  );
}
