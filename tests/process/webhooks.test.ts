// @module-tag large
import { expect, onTestFinished, test } from "vitest";
import { openAccount } from "../../src/accounts/ledger.store.ts";
import { openDatabase } from "../../src/db/open.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { ManagementKeyService } from "../../src/keys/management-keys/management-key.service.ts";
import { startNetwork } from "../support/chain/network.ts";
import { rest } from "../support/clients/rest-client.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder, startReady } from "../support/servers/process.ts";
import { until } from "../support/until.ts";
import { accept, startReceiver, verify } from "../support/webhooks/receiver.ts";

const onEnd = onTestFinished as OnEnd;
const AFTER_LEASE_MS = 90_000;
const account = `0x${"ab".repeat(20)}`;

test("killed between a delivery and its record, the product delivers that event again and none is missing", async () => {
  const { rpcUrl } = await startNetwork(onEnd);
  const receiver = await startReceiver(onEnd);
  const folder = newFolder(onEnd);
  const settings = { DATA_DIR: folder, RPC_URL: rpcUrl };
  const database = await openDatabase({ kind: "folder", path: folder });
  // Without a key, whose event could be published after the webhook is there.
  await database.statements((tx) => openAccount(tx, account));
  const keys = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
  const { secret: mk } = await keys.create(account, "manages", SCOPES);
  await database.close();

  const running = await startReady({ settings, onEnd });
  const newKey = (origin: string, name: string) =>
    rest<{ key_id: string }>(origin, "/v1/api-keys", mk, { body: { name } });
  const { body: made } = await rest<{ webhook_id: string; secret: string }>(
    running.origin,
    "/v1/webhooks",
    mk,
    {
      body: { name: "hook", url: receiver.url, events: ["api_key.created"] },
    },
  );
  let isKilled = false;
  receiver.answer = (received, response) => {
    if (isKilled || received.payload.sequence !== 3) return accept(received, response);
    isKilled = true;
    void running.end("SIGKILL");
  };
  const created: string[] = [];
  for (const name of ["one", "two", "three"]) created.push((await newKey(running.origin, name)).body.key_id);
  expect((await running.ended).signal).toBe("SIGKILL");
  expect(receiver.received).toHaveLength(3);

  const again = await startReady({ settings, onEnd });
  created.push((await newKey(again.origin, "four")).body.key_id);
  await until(() => receiver.received.length >= 5, AFTER_LEASE_MS);
  const [first, second, third] = created;
  expect(receiver.received.map(({ payload }) => payload.data.key_id)).toEqual([
    first,
    second,
    third,
    ...created.slice(2),
  ]);
  expect(receiver.received.map(({ payload }) => payload.sequence)).toEqual([1, 2, 3, 3, 4]);
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids[3]).toBe(ids[2]);
  for (const delivery of receiver.received) verify(delivery, made.secret);
  expect(await again.end("SIGTERM")).toEqual({ code: 0, signal: null });
});
