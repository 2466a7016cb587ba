import { expect, test } from "vitest";
import { PendingOutcomes } from "../../src/idempotency/pending-outcomes.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { until } from "../support/until.ts";

const LATER = performance.now() + 3_600_000;

test("an outcome that the database did not take is written again until it does, and is done once", async () => {
  const pending = new PendingOutcomes(createLogger("silent"));
  let writes = 0;
  let done = 0;
  pending.add(
    {
      ...{ requestId: "req-1", sizeBytes: 10, untilMs: LATER },
      write: async () => {
        writes++;
        if (writes < 3) throw new Error("unreachable");
      },
      done: () => void done++,
    },
    new Error("unreachable"),
  );
  await until(() => done === 1);
  expect(writes).toBe(3);
  await pending.stop();
  expect(done).toBe(1);
});

test("an outcome is given up when its time is over, when there is no room, and when the process stops", async () => {
  const pending = new PendingOutcomes(createLogger("silent"));
  const done: string[] = [];
  const outcome = (requestId: string, sizeBytes: number, untilMs = LATER) => ({
    ...{ requestId, sizeBytes, untilMs, write: async () => expect.fail("it is not written") },
    done: () => void done.push(requestId),
  });
  pending.add(outcome("late", 1, 0), new Error("unreachable"));
  await until(() => done.includes("late"));
  pending.add(outcome("large", 65 * 1_048_576), new Error("unreachable"));
  expect(done).toEqual(["late", "large"]);
  pending.add({ ...outcome("stopped", 1), write: () => new Promise(() => {}) }, new Error("unreachable"));
  expect(done).toEqual(["late", "large"]);
});

test("an outcome that only fails itself does not keep the others, and all are written once more at the stop", async () => {
  const pending = new PendingOutcomes(createLogger("silent"));
  const done: string[] = [];
  let isReachable = false;
  const outcome = (requestId: string, write: () => Promise<unknown>) => ({
    ...{ requestId, sizeBytes: 1, untilMs: LATER, write },
    done: () => void done.push(requestId),
  });
  const refused = async () => {
    if (!isReachable) throw new Error("refused");
  };
  pending.add(outcome("refused", refused), new Error("refused"));
  pending.add(
    outcome("accepted", async () => {}),
    new Error("unreachable"),
  );
  await until(() => done.length === 1);
  expect(done).toEqual(["accepted"]);
  isReachable = true;
  await pending.stop();
  expect(done).toEqual(["accepted", "refused"]);
});

test("the last attempt at the stop writes every outcome but those that the database refuses", async () => {
  const pending = new PendingOutcomes(createLogger("silent"));
  const written: string[] = [];
  const done: string[] = [];
  const add = (requestId: string, write: () => Promise<unknown>) =>
    pending.add(
      { ...{ requestId, sizeBytes: 1, untilMs: LATER, write }, done: () => void done.push(requestId) },
      new Error("unreachable"),
    );
  const refused = () => Promise.reject(new Error("refused"));
  add("refused-1", refused);
  add("kept-1", async () => void written.push("kept-1"));
  add("refused-2", refused);
  add("kept-2", async () => void written.push("kept-2"));
  await pending.stop();
  expect(written).toEqual(["kept-1", "kept-2"]);
  expect(done.toSorted()).toEqual(["kept-1", "kept-2", "refused-1", "refused-2"]);
});

test("the stop does not wait for each outcome while the database is unreachable", async () => {
  const pending = new PendingOutcomes(createLogger("silent"));
  let attempts = 0;
  let done = 0;
  const write = async () => {
    attempts++;
    throw new AppError("unavailable", "The database is unreachable.");
  };
  for (const requestId of ["req-1", "req-2", "req-3"])
    pending.add(
      { ...{ requestId, sizeBytes: 1, untilMs: LATER, write }, done: () => void done++ },
      new Error("unreachable"),
    );
  await pending.stop();
  expect({ attempts, done }).toEqual({ attempts: 1, done: 3 });
});
