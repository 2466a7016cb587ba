import { Tooltip } from "@mantine/core";
import type { ClipboardEvent } from "react";
import { toTokens, toUsd } from "../data/amounts.ts";
import { useNetwork } from "../data/session.tsx";
import { useUsdPerToken } from "../data/token-price.tsx";

/**
 * An amount of neuron in tokens with at most `places` decimals. A click selects it; copied, it is the exact neuron, which
 * the tooltip shows too, with US dollars where the price of the token is known. `withUsd` shows them beside it.
 */
export function Amount({
  neuron,
  places = 6,
  withUsd = false,
}: {
  neuron: string;
  places?: number;
  withUsd?: boolean;
}) {
  const { symbol } = useNetwork();
  const usdPerToken = useUsdPerToken();
  const usd = usdPerToken === undefined ? undefined : toUsd(neuron, usdPerToken);
  const copy = (event: ClipboardEvent) => {
    event.clipboardData.setData("text/plain", neuron);
    event.preventDefault();
  };
  return (
    <Tooltip label={`${neuron} neuron${usd ? ` · ${usd}` : ""}`}>
      <span className="amount" onCopy={copy}>
        {toTokens(neuron, places)} <abbr title="the token of this network">{symbol}</abbr>
        {withUsd && usd && <span className="usd"> {usd}</span>}
      </span>
    </Tooltip>
  );
}
