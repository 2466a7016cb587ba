import { expect, onTestFinished, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { done, startJobBroker, working } from "../../support/chain/job-broker.ts";
import { type Following, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { rest } from "../../support/clients/rest-client.ts";
import { scaled } from "../../support/machine.ts";
import { until } from "../../support/until.ts";
import { MODEL, register, requireOnce, statusOf, submit } from "../jobs/image-jobs.ts";
import { newCustomer, type SplitProduct } from "./split-product.ts";

const MONEY = 10_000n;

/** The guarantees of image jobs when several processes share the work. */
export function testImageJobs(started: () => SplitProduct): void {
  test("a killed worker's job continues in another, and followers at every gateway receive all its events in order", async () => {
    const product = started();
    const broker = await startJobBroker(onTestFinished);
    await register(product.rpcUrl, broker);
    const { secret } = await newCustomer(product.database, MONEY);
    const [first, second] = product.gateways.map(({ origin }) => origin) as [string, string];
    let isKilled = false;
    broker.script = { poll: () => (isKilled ? done() : working(0.5)) };
    // A process knows the offer once it has read the chain again.
    const known = () =>
      Promise.all([first, second].map((origin) => rest<{ data: { id: string }[] }>(origin, "/v1/models")));
    await until(
      async () => (await known()).every(({ body }) => body.data.some(({ id }) => id === MODEL)),
      40_000,
    );
    const query = "subscription { imageJobChanged { id jobId sequence status step } }";
    const followers: Following[] = [
      await followSocket(second, secret, query),
      await followEvents(first, secret, query),
    ];
    // It may be listed a moment before it may be used.
    let id = "";
    const isSubmitted = () =>
      submit(first, secret, "the sea").then(
        (jobId) => {
          id = jobId;
          return true;
        },
        () => false,
      );
    await until(isSubmitted, 40_000);
    await until(() => broker.polls > 1);
    await product.worker.end("SIGKILL");
    isKilled = true;
    const killedMs = performance.now();
    await product.startWorker();
    type Step = { sequence: number; status: string; step: string };
    const stepsOf = ({ results }: Following): Step[] => results.map(({ data }) => data.imageJobChanged);
    await until(() => followers.every((f) => stepsOf(f).at(-1)?.status === "COMPLETED"), 60_000);
    expect(performance.now() - killedMs).toBeLessThan(scaled(45_000));
    for (const follower of followers) {
      const steps = stepsOf(follower);
      expect(steps.map(({ sequence }) => sequence)).toEqual(
        steps.map((_, n) => (steps[0]?.sequence ?? 0) + n),
      );
      expect(steps.map(({ step }) => step)).toContain("RESUMED");
      await follower.stop();
    }
    expect(await statusOf(second, secret, id)).toBe("completed");
    expect(broker.submissions).toHaveLength(1);
    await requireOnce(product.database, [id]);
    // A submission that was refused on a busy machine may have left a hold, which is released in the background.
    const ledger = new LedgerService(product.database);
    await until(async () => expect(await ledger.verify()).toMatchObject({ faults: [], openHolds: 0 }));
  });
}
