// @module-tag large
import { afterAll, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { done, startJobBroker, working } from "../../support/chain/job-broker.ts";
import { startNetwork } from "../../support/chain/network.ts";
import { scaled } from "../../support/machine.ts";
import { PATIENT_PROVIDERS } from "../../support/patient-providers.ts";
import { seedAccount } from "../../support/seed.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { newFolder, startReady } from "../../support/servers/process.ts";
import { until } from "../../support/until.ts";
import { PRICE, register, requireOnce, statusOf, submit } from "./image-jobs.ts";

const MONEY = 10_000n;
const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);

afterAll(async () => {
  for (const end of ends) await end();
});

test("killed with a job at every step, the product ends all of them within 30 s of its restart, each charged once", async () => {
  const { rpcUrl } = await startNetwork(onEnd);
  const broker = await startJobBroker(onEnd);
  await register(rpcUrl, broker);
  const folder = newFolder(onEnd);
  const settings = { ...PATIENT_PROVIDERS, DATA_DIR: folder, RPC_URL: rpcUrl, JOBS_PARALLEL: "4" };
  const database = await openDatabase({ kind: "folder", path: folder });
  const { secret, account } = await seedAccount(database, MONEY);
  await database.close();
  const running = await startReady({ settings, onEnd });

  const promptOf = (body: Buffer) => (JSON.parse(body.toString()) as { prompt: string }).prompt;
  const seen = new Set<string>();
  let isKilled = false;
  broker.script = {
    // The provider has the request, and no answer ever comes.
    submission: (n) => (n === 0 ? "silent" : undefined),
    poll(_, { body }) {
      const prompt = promptOf(body);
      seen.add(prompt);
      if (isKilled) return done();
      if (prompt === "unheard poll") return "silent";
      if (prompt === "under way") return working(0.5);
      // The result is on its way, and nothing of it is written.
      if (prompt === "has its result" && seen.size === 3) {
        isKilled = true;
        void running.end("SIGKILL");
        return done();
      }
      return working();
    },
  };
  const ids = [await submit(running.origin, secret, "sent, not answered")];
  await until(() => broker.submissions.length === 1);
  ids.push(await submit(running.origin, secret, "unheard poll"));
  ids.push(await submit(running.origin, secret, "under way"));
  ids.push(await submit(running.origin, secret, "has its result"));
  const waiting = submit(running.origin, secret, "waits for a worker").catch(() => undefined);
  expect((await running.ended).signal).toBe("SIGKILL");
  const fifth = await waiting;
  if (fifth) ids.push(fifth);

  const again = await startReady({ settings, onEnd });
  const readyMs = performance.now();
  await until(
    async () =>
      (await Promise.all(ids.map((id) => statusOf(again.origin, secret, id)))).every(
        (status) => status === "completed",
      ),
    45_000,
  );
  expect(performance.now() - readyMs).toBeLessThan(scaled(30_000));
  expect(await again.end("SIGTERM")).toEqual({ code: 0, signal: null });
  // Only the job whose answer never arrived may have been sent again.
  expect(broker.submissions).toHaveLength(ids.length + 1);
  const after = await openDatabase({ kind: "folder", path: folder });
  onEnd(() => after.close());
  await requireOnce(after, ids);
  expect(await new LedgerService(after).verify()).toMatchObject({ faults: [], openHolds: 0 });
  const [left] = await after.rows<{ deposit: string; held: string }>(
    "select deposit::text as deposit, held::text as held from account where address = $1::text",
    [account],
  );
  expect(left).toEqual({ deposit: `${MONEY - PRICE * BigInt(ids.length)}`, held: "0" });
});
