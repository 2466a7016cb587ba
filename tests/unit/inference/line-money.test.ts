import { expect, onTestFinished, test, vi } from "vitest";
import type { HoldRequest } from "../../../src/accounts/holds.store.ts";
import { LineLedger, type RunningBatch } from "../../../src/inference/batches/line-ledger.ts";
import { LineRun } from "../../../src/inference/batches/line-run.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { until } from "../../support/until.ts";

const LINE = Buffer.from(
  JSON.stringify({ custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "m" } }),
);
const refusal = () => new AppError("insufficient_balance", "There is not enough money.");

/** Lines of one batch whose holds a test grants or refuses, and that are answered once a test ends them. */
function lines() {
  const asked: PromiseWithResolvers<bigint>[] = [];
  const answers: PromiseWithResolvers<void>[] = [];
  const failed: number[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const batch = {
    ...{ id: "batch", account: "0xa", keyId: "key", endpoint: "/v1/chat/completions" },
    lease: { signal: stop.signal },
  } as unknown as RunningBatch;
  const holds = {
    commit: () => {
      const ask = Promise.withResolvers<bigint>();
      asked.push(ask);
      return ask.promise;
    },
  } as unknown as ConstructorParameters<typeof LineLedger>[0]["holds"];
  const ledger = new LineLedger({ database: {} as never, holds, committed() {} });
  vi.spyOn(ledger, "fail").mockImplementation(async (_batch, [line]) => void failed.push(line?.n ?? 0));
  const run = new LineRun({
    ...{ ledger, batch, log: createLogger("silent"), stop: async () => {}, stopped: async () => {} },
    clock: { now: () => new Date(), monotonicMs: () => 0, sleep: async () => {} },
    requests: {
      async run(_endpoint, _body, { requestId }) {
        await ledger.hold({ id: requestId } as HoldRequest);
        const answer = Promise.withResolvers<void>();
        answers.push(answer);
        await answer.promise;
        return {} as never;
      },
    },
  });
  const begin = (n: number) => run.run({ n, requestId: null, attempts: 0 } as never, LINE);
  return { asked, answers, failed, begin };
}

test("lines that lack money fail, rather than waiting for each other's attempts", async () => {
  const { asked, failed, begin } = lines();
  const runs = [begin(1), begin(2)];
  await until(() => asked.length === 2);
  asked[0]?.reject(refusal());
  await new Promise(setImmediate);
  asked[1]?.reject(refusal());
  await Promise.all(runs);
  expect(failed.toSorted()).toEqual([1, 2]);
  expect(asked).toHaveLength(2);
});

test("a line that lacks money waits for one that is granted some after it was refused", async () => {
  const { asked, answers, failed, begin } = lines();
  const runs = [begin(1), begin(2)];
  await until(() => asked.length === 2);
  asked[0]?.reject(refusal());
  await new Promise(setImmediate);
  asked[1]?.resolve(1n);
  await until(() => asked.length === 3);
  asked[2]?.resolve(1n);
  await until(() => answers.length === 2);
  for (const answer of answers) answer.resolve();
  await Promise.all(runs);
  expect(failed).toEqual([]);
});

test("a line that was refused while another had money asks again, also if that one ends before it knows", async () => {
  const { asked, answers, failed, begin } = lines();
  const first = begin(1);
  await until(() => asked.length === 1);
  asked[0]?.resolve(1n);
  await until(() => answers.length === 1);
  const second = begin(2);
  await until(() => asked.length === 2);
  answers[0]?.resolve();
  await first;
  asked[1]?.reject(refusal());
  await until(() => asked.length === 3);
  asked[2]?.reject(refusal());
  await second;
  expect(failed).toEqual([2]);
});
