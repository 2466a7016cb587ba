// @module-tag large
import { describe, expect, inject, test } from "vitest";
import { readStatuses } from "../../src/chain/watcher/log-watcher.store.ts";
import { startChain } from "../support/chain/chain.ts";
import { balanceOf, newAccount, watchDeposits } from "../support/chain/deposits.ts";
import { createServerDatabase, openPatiently } from "../support/servers/database.ts";
import { runProcess } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

describe.skipIf(!inject("postgresUrl"))("npm run watcher:accept", () => {
  test("lets a running worker continue, and says what it did", async () => {
    const [chain, url] = [await startChain(), await createServerDatabase()];
    const database = await openPatiently(url, 4);
    const account = newAccount();
    const { watcher, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 1 });
    watcher.start();
    try {
      await chain.deposit(account, 7n);
      await chain.mine(2);
      await scanned(await chain.height());
      await chain.reorg(3);
      await chain.mine(3);
      await until(async () => (await readStatuses(database)).get("deposits")?.state === "halted_deep_reorg");
      const run = (...args: string[]) =>
        runProcess({ script: "dist/gateway/cli/accept-reorg.js", args, settings: { DATABASE_URL: url } });
      expect(await run("files")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("deposits: halted_deep_reorg"),
      });
      const accepted = await run("deposits");
      expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining("Accepted.") });
      watcher.poke();
      await scanned(await chain.height());
      expect(await balanceOf(database, account)).toBe(7n);
    } finally {
      await watcher.stop();
      await database.close();
    }
  });
});
