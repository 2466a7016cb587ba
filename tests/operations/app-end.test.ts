import { expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { startChain } from "../support/chain/chain.ts";
import { openTestDatabase } from "../support/servers/database.ts";

test("a part that cannot end is logged, and everything after it ends", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const config = readConfig({ NETWORK: "devnet", RPC_URL: chain.url });
  const nowhere: Hex = `0x${"1".repeat(40)}`;
  const network = withAddresses(NETWORKS.devnet, {
    contracts: { flow: nowhere, routerVault: nowhere, computeInference: nowhere, computeLedger: nowhere },
  });
  const lines: string[] = [];
  const log = createLogger("error", { write: (line) => void lines.push(line) });
  const app = await createApp(config, network, log, async () => database);
  vi.spyOn(app.idempotency, "stop").mockRejectedValue(new Error("the outcome is lost"));
  const closed = vi.spyOn(database, "close");
  await app.close();
  expect(lines.join()).toContain("the outcome is lost");
  expect(closed).toHaveBeenCalled();
});
