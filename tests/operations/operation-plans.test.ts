import { describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Queries } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { OperationsService } from "../../src/operations/operations.service.ts";
import { readWebhookHealth } from "../../src/webhooks/webhook-health.store.ts";
import type { WebhooksService } from "../../src/webhooks/webhooks.service.ts";
import { openTestDatabase } from "../support/servers/database.ts";

describe.skipIf(!inject("postgresUrl"))("what operators see", () => {
  test("is read from indexes: no statement scans the jobs, the events or the webhooks", async () => {
    const database = await openTestDatabase("server");
    const seen: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
    const queries: Queries = {
      rows: (sql, parameters = []) => {
        seen.push({ sql, parameters });
        return database.rows(sql, parameters);
      },
    };
    const webhooks = { health: () => readWebhookHealth(queries) } as unknown as WebhooksService;
    const ledger = new LedgerService(database);
    const operations = new OperationsService({ queries, clock: systemClock, webhooks, ledger });
    await Promise.all([operations.queues(), operations.queues(), operations.deliveries()]);
    // Five of the queues, once for both callers, and three of the webhooks.
    expect(seen).toHaveLength(8);
    const plans = await database.transaction(async (tx) => {
      // The tables are empty: the planner would prefer sequential scans.
      await tx.rows("set local enable_seqscan = off");
      const explained = seen.map(({ sql, parameters }) =>
        tx.rows<{ "QUERY PLAN": string }>(`explain ${sql}`, parameters),
      );
      return (await Promise.all(explained)).map((rows) => rows.map((row) => row["QUERY PLAN"]).join("\n"));
    });
    // Both have a row for the deployment, or one for each topic.
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (?!webhook_scan|outbox_forgotten)/);
    const all = plans.join("\n");
    for (const index of [
      "job_unfinished",
      "outbox_unpublished",
      "webhook_due",
      "webhook_failing",
      "webhook_disabled",
    ])
      expect(all).toContain(index);
  });
});
