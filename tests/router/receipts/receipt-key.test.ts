// @module-tag medium
import { expect, test } from "vitest";
import { verify } from "../../../packages/verify/src/verify.ts";
import { openCheckpoint } from "../../../src/receipts/format/checkpoint.ts";
import { type ReceiptKey, receiptKeyOf } from "../../../src/receipts/receipt-key.ts";
import { ReceiptsService } from "../../../src/receipts/receipts.service.ts";
import { ReturnedHashes } from "../../../src/receipts/returned-hashes.ts";
import { ReceiptSequencer } from "../../../src/receipts/sequencer.runner.ts";
import { MODEL } from "../../support/chain/network.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();

/** The receipts as a process with this RECEIPT_KEY serves them. */
function served(key: ReceiptKey): ReceiptsService {
  const { database: queries, log } = stack().app;
  const returned = new ReturnedHashes(queries, log);
  return new ReceiptsService({
    ...{ queries, key, returned, signatureOf: async () => undefined },
    retryAfterSeconds: 1,
  });
}

async function chat({ account, secret }: Seeded): Promise<string> {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "x" }], max_tokens: 4 }),
  });
  await reply.text();
  const id = reply.headers.get("x-request-id") ?? "";
  await until(() => stack().app.receipts.bundle({ account }, id));
  return id;
}

test("after a change of RECEIPT_KEY every bundle verifies with the key of the process that serves it, without a new receipt", async () => {
  const owner = await seedAccount(stack().app.database, 10n ** 12n);
  const id = await chat(owner);
  const replaced = receiptKeyOf(Buffer.alloc(32, 7));
  const [before, after] = [stack().app.receipts, served(replaced)];
  const stored = await before.head();
  // During a rolling restart both keys are in use, in any order.
  for (const receipts of [after, before, after]) {
    const { verifierKey: key } = receipts.key;
    const bundle = JSON.stringify(await receipts.bundle(owner, id));
    const { ok, checks } = await verify({ bundle, key });
    expect(checks.filter(({ result }) => result === "failed")).toEqual([]);
    expect(ok).toBe(true);
    const head = await receipts.head();
    expect(openCheckpoint(head?.note ?? "", receipts.key)).toMatchObject({ size: head?.size });
    expect((await receipts.consistency(1)).checkpoint).toBe(head?.note);
  }
  // Serving writes nothing: processes with different keys do not replace each other's head.
  expect(await before.head()).toEqual(stored);
});

test("a head that the sequencer signs with the new key is served by a process with the old one as its own", async () => {
  const owner = await seedAccount(stack().app.database, 10n ** 12n);
  const id = await chat(owner);
  const { clock, database, log, receipts } = stack().app;
  const key = receiptKeyOf(Buffer.alloc(32, 8));
  await database.rows(
    "update receipt_log set checkpoint = null, checkpoint_size = null, checkpoint_at = null",
  );
  await new ReceiptSequencer({ clock, database, log, key, checkpointSeconds: 0 }).sign();
  const bundle = JSON.stringify(await until(() => receipts.bundle(owner, id)));
  expect(await verify({ bundle, key: receipts.key.verifierKey })).toMatchObject({ ok: true });
  expect(openCheckpoint((await served(key).head())?.note ?? "", key)).toBeDefined();
});
