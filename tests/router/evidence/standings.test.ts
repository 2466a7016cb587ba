// @module-tag medium
import { expect, test } from "vitest";
import type { Queries } from "../../../src/db/database.ts";
import { storeEvidence } from "../../../src/inference/evidence/evidence.store.ts";
import { StandingsService } from "../../../src/inference/evidence/standings.service.ts";
import { nothing, type Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

test("evidence that this process finds while it reads that of others is not replaced by an older one", async () => {
  const database = await openTestDatabase();
  const provider = { address: `0x${newId().replaceAll("-", "").padStart(40, "0")}` } as Provider;
  const store = (verdict: Verdict) =>
    storeEvidence(database, "", {
      ...{ ...nothing(verdict), responseBound: verdict === "verified", requestId: newId() },
      ...{ provider: provider.address, answerId: undefined, expectedSigner: undefined },
      ...{ requestHash: undefined, responseHash: undefined },
    });
  await store("verified");
  const [hasRead, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const queries: Queries = {
    async rows(sql, parameters) {
      const rows = await database.rows<never>(sql, parameters);
      hasRead.resolve();
      await mayContinue.promise;
      return rows;
    },
  };
  const standings = new StandingsService({
    ...{ queries, log: createLogger("silent"), providers: () => [provider], isAttested: () => false },
  });
  const read = standings.refresh();
  await hasRead.promise;
  await store("unbound");
  standings.note(provider.address, nothing("unbound"));
  mayContinue.resolve();
  await read;
  expect(standings.of(provider).isBound).toBe(false);
  await store("verified");
  await standings.refresh();
  expect(standings.of(provider).isBound).toBe(true);
});
