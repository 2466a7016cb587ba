import { expect } from "vitest";
import type { App } from "../../../src/app.ts";
import { balanceAtRest } from "../balance.ts";
import type { Seeded } from "../seed.ts";
import { until } from "../until.ts";

/** Waits until an account has exactly this available balance and no holds. */
export async function requireAvailable(
  app: App,
  { account }: Seeded,
  { available }: { readonly available: bigint },
): Promise<void> {
  await until(async () => {
    const balance = await balanceAtRest(app, account);
    expect({ available: balance?.available, held: balance?.held }).toEqual({ available, held: 0n });
  });
}
