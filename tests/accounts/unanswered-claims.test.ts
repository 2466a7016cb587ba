import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import type { Queries } from "../../src/db/database.ts";
import { IdempotencyService } from "../../src/idempotency/idempotency.service.ts";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { RunningClaims } from "../../src/idempotency/running-claims.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

test.for([true, false])(
  "the key of a request that never ran, since the answer to its claim was lost, is free for a retry (billed: %s)",
  async (isBilled) => {
    const database = await openTestDatabase("embedded");
    const { account } = await seedAccount(database, 1_000n);
    let isLosing = true;
    const queries: Queries = {
      async rows<Row>(sql: string, parameters?: readonly unknown[]) {
        const rows = await database.rows<Row>(sql, parameters);
        if (!isLosing) return rows;
        isLosing = false;
        throw new AppError("unavailable", "The database is unreachable. Try again later.");
      },
    };
    const claims = new RunningClaims();
    const log = createLogger("silent");
    const holds = new HoldsService({ ...{ database, claims, log, committed: () => {} }, isTimed: false });
    const idempotency = new IdempotencyService({ queries, lease: holds, claims, log, deadlineSeconds: 60 });
    onTestFinished(async () => {
      await idempotency.stop();
      await holds.stop();
    });
    const begin = () =>
      idempotency.begin({
        ...{ account, method: "POST", route: "/v1/chat/completions", key: "order-1", bodyHash: "ab" },
        ...{ requestId: randomUUID(), replayKey: ReplayKey.ofAuthorization("Bearer sk-1"), isBilled },
      });
    await expect(begin()).rejects.toMatchObject({ code: "unavailable" });
    const claim = await until(() => begin().catch(() => false as const));
    expect(claim).toHaveProperty("keep");
    expect(claims.size).toBe(1);
  },
);
