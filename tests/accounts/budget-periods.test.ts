import { expect, onTestFinished, test } from "vitest";
import { TagBudgetsService } from "../../src/accounts/budgets/tag-budgets.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { RESET_PERIODS } from "../../src/keys/api-keys/reset-period.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const log = createLogger("silent");
const SEARCH = { name: "team", value: "search" };
const UNITS = { daily: "day", weekly: "week", monthly: "month" } as const;

describeDatabases("a change of the period of a budget", (kind) => {
  test.each([
    ["daily", true],
    ["daily", false],
    ["weekly", true],
    ["monthly", false],
  ] as const)(
    "to another one and back to %s frees nothing that was spent (in the stored sums: %s)",
    async (period, isStored) => {
      const database = await openTestDatabase(kind);
      const common = { database, clock: systemClock, committed: () => {} };
      const budgets = new TagBudgetsService(common);
      const keys = new ApiKeyService(common);
      const holds = new HoldsService({ database, log, committed: () => {} });
      onTestFinished(() => holds.stop());
      const seeded = await seedAccount(database, 1_000n);
      const { account, keyId } = seeded;
      const spend = async (neuron: bigint) => {
        const request = requestFor(seeded, neuron, { tags: { team: "search" } });
        await holds.hold(request);
        await holds.settle(settlementOf(request.id, neuron));
        return request.id;
      };
      const move = (id: string, column: "created_at" | "finished_at", before: string) =>
        database.rows(
          `update inference_request
         set ${column} = date_trunc('${UNITS[period]}', now(), 'UTC') - $2::text::interval where id = $1`,
          [id, before],
        );
      const earlier = await spend(7n);
      await move(earlier, "created_at", "2 minutes");
      await move(earlier, "finished_at", "1 minute");
      // It began in the previous period, and is settled in this one.
      await move(await spend(10n), "created_at", "1 minute");
      if (isStored) await new UsageRollups({ database, log }).sweep(1);
      const { id, used } = await budgets.create(account, {
        ...SEARCH,
        creditLimit: 20n,
        resetPeriod: period,
      });
      expect(used).toBe(10n);
      await spend(5n);
      for (const other of RESET_PERIODS) {
        await budgets.update(account, id, { resetPeriod: other });
        const back = await budgets.update(account, id, { resetPeriod: period });
        expect(back.used).toBe(15n);
        // A key counts by the same rule.
        await keys.update(account, keyId, { resetPeriod: other });
        expect((await keys.update(account, keyId, { resetPeriod: period })).used).toBe(15n);
      }
      await expect(spend(6n)).rejects.toMatchObject({ code: "credit_limit_exceeded" });
      expect((await budgets.update(account, id, { resetPeriod: "never" })).used).toBe(22n);
      expect((await keys.update(account, keyId, { resetPeriod: "never" })).used).toBe(22n);
    },
  );
});
