import { Progress, Tooltip } from "@mantine/core";
import { toTokens } from "../../data/amounts.ts";
import { useNetwork } from "../../data/session/session.tsx";

const WARNED_PERCENT = 80;

type Spend = {
  /** Neuron. */
  readonly used: string;
  readonly held?: string;
  readonly limit: string;
};

/** How much of a limit is used, in whole percent, rounded down: 100 only if all of it is. */
export function percentOf(used: string, limit: string): number {
  if (BigInt(limit) === 0n) return 100;
  return Number((BigInt(used) * 100n) / BigInt(limit));
}

/** What is spent of a limit, and held for requests in progress. Its colour changes at 80 % and at 100 %. */
export function SpendBar({ of: { used, held = "0", limit }, what }: { of: Spend; what: string }) {
  const { symbol } = useNetwork();
  const percent = percentOf(used, limit);
  const heldPercent = BigInt(limit) === 0n ? 0 : percentOf(held, limit);
  const color = percent >= 100 ? "red" : percent >= WARNED_PERCENT ? "yellow" : "iris";
  const text = (neuron: string) => `${toTokens(neuron, 9)} ${symbol}`;
  const isHeld = BigInt(held) > 0n;
  const shown = percent === 0 && BigInt(used) > 0n ? "<1%" : `${percent}%`;
  return (
    <Tooltip label={`${text(used)} spent${isHeld ? `, ${text(held)} held` : ""}, of ${text(limit)}`}>
      <div className="spend-bar">
        <Progress.Root size="sm">
          <Progress.Section
            value={Math.min(100, percent)}
            color={color}
            aria-label={`${what}: ${shown} spent`}
          />
          {isHeld && (
            <Progress.Section
              value={Math.min(100 - Math.min(100, percent), Math.max(1, heldPercent))}
              color={color}
              striped
              aria-label={`${what}: ${heldPercent}% held`}
            />
          )}
        </Progress.Root>
        <span className="quiet">{shown}</span>
      </div>
    </Tooltip>
  );
}
