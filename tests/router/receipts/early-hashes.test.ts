import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { HoldsService } from "../../../src/accounts/holds.service.ts";
import type { Queries } from "../../../src/db/database.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { ReturnedHashes } from "../../../src/receipts/returned-hashes.ts";
import { requestFor, settlementOf } from "../../support/admissions.ts";
import { seedAccount } from "../../support/seed.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

const log = createLogger("silent");
const digest = () => randomBytes(32).toString("hex");

test("the hash of an answer waits for a settlement that is recorded late, since the database was unreachable", async () => {
  const database = await openTestDatabase("embedded");
  const seeded = await seedAccount(database, 1_000n);
  const holds = new HoldsService({ ...{ database, log, committed: () => {} }, isTimed: false });
  const hashes = new ReturnedHashes(database, log);
  onTestFinished(async () => {
    await hashes.stop();
    await holds.stop();
  });
  const request = requestFor(seeded, 100n);
  await holds.hold(request);
  const returned = digest();
  hashes.add(request.id, returned);
  await hashes.flush();
  const known = { received: digest(), forwarded: digest(), answered: digest(), returned: undefined };
  const receipt = { ...known, endpoint: "/v1/chat/completions", modelAnswered: "m", awaitsReturned: true };
  await holds.settle({ ...settlementOf(request.id, 60n), receipt });
  await hashes.flush();
  expect(
    await database.rows("select encode(digests, 'hex') as digests from receipt_draft where request_id = $1", [
      request.id,
    ]),
  ).toEqual([{ digests: known.received + known.forwarded + known.answered + returned }]);
});

test("a hash whose settlement is never recorded is given up", async () => {
  let writes = 0;
  const queries: Queries = {
    async rows() {
      writes++;
      return [];
    },
  };
  const hashes = new ReturnedHashes(queries, log);
  hashes.add("request-1", digest());
  for (let n = 0; n < 30; n++) await hashes.flush();
  await hashes.stop();
  expect(writes).toBe(20);
});
