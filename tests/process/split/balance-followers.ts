import { expect } from "vitest";
import { type Following, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { until } from "../../support/until.ts";
import { chat, priceOf } from "../chat.ts";

/** The subscription, from now on or after a cursor. */
export function balanceChanged(after?: string): string {
  const behind = after === undefined ? "" : `(after: "${after}")`;
  return `subscription { balanceChanged${behind} { id cursor cause balance { total held } } }`;
}

/** Its events. */
export type BalanceEvent = {
  id: string;
  cursor: string;
  cause: string;
  balance: { total: string; held: string };
};

/** The events that a follower received so far. A subscription that ends with an error has no data in its last result. */
export function eventsOf({ results }: Following): readonly BalanceEvent[] {
  return results.flatMap(({ data }) => data?.balanceChanged ?? []);
}

/** The events of a follower up to its last settlement, once that is the one of an answer with so many tokens. */
export function settledLast(follower: Following, tokens: number): readonly BalanceEvent[] | false {
  const events = eventsOf(follower);
  const settled = events.slice(0, events.findLastIndex(({ cause }) => cause === "SETTLEMENT") + 1);
  const [before, last] = settled.slice(-2).map(({ balance }) => BigInt(balance.total));
  return before !== undefined && last === before - priceOf(tokens) && settled;
}

/**
 * Follows the balance over both transports. A chat shows whether they are open: there is no other sign of it.
 */
export async function followBoth(
  origin: string,
  managementKey: string,
  secret: string,
): Promise<readonly Following[]> {
  const followers = await Promise.all([
    followSocket(origin, managementKey, balanceChanged()),
    followEvents(origin, managementKey, balanceChanged()),
  ]);
  await until(async () => {
    expect((await chat(origin, secret, { max_tokens: 1 })).status).toBe(200);
    return followers.every(({ results }) => results.length > 0);
  });
  return followers;
}
