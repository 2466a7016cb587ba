import { expect, onTestFinished, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { RunningClaims } from "../../src/idempotency/running-claims.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const DIGEST = "ab".repeat(32);

test("a request whose key was freed is not charged, and its receipt does not expect the answer that states a charge", async () => {
  const database = await openTestDatabase("embedded");
  const seeded = await seedAccount(database, 1_000n);
  const claims = new RunningClaims();
  const holds = new HoldsService({
    ...{ database, claims, log: createLogger("silent"), committed: () => {} },
    isTimed: false,
  });
  onTestFinished(() => holds.stop());
  const request = requestFor(seeded, 100n);
  // Its process slept, so that another one has freed the key: there is no row of it.
  claims.add(request.id);
  await holds.hold(request);
  const digests = { received: DIGEST, forwarded: DIGEST, answered: DIGEST, returned: DIGEST };
  const receipt = { ...digests, endpoint: "/v1/chat/completions", modelAnswered: "m", awaitsReturned: true };
  expect(await holds.settle({ ...settlementOf(request.id, 60n), receipt })).toBe(0n);
  const drafts = await database.rows(
    `select octet_length(digests) as bytes, ready_at > now() + interval '5 seconds' as is_waiting
     from receipt_draft where request_id = $1`,
    [request.id],
  );
  expect(drafts).toEqual([{ bytes: 96, is_waiting: true }]);
});
