// @module-tag medium
import { describe, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { openSession } from "../support/callers.ts";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { seedAccount } from "../support/seed.ts";
import { newFolder } from "../support/servers/process.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const services = useServices(stack, ["messages"]);
const { model } = SERVICES.messages;

async function read<T>(secret: string, query: string): Promise<T> {
  const { data, errors } = await ask(stack().origin, secret, query);
  expect(errors).toBeUndefined();
  return data;
}

test("an account has the age and the balance in the vault that REST shows", async () => {
  const owner = await seedAccount(stack().app.database, 1_000n);
  const secret = await openSession(stack().app, owner.account);
  const account = await rest<{ created_at: string }>(stack().origin, "/v1/account", secret);
  const funds = await rest<{ payment_layer: { balance: string } }>(
    stack().origin,
    "/v1/account/funds",
    secret,
  );
  const { viewer } = await read<{ viewer: { account: object } }>(
    secret,
    "{ viewer { account { createdAt vaultBalance { balance asOf } } } }",
  );
  expect(viewer.account).toEqual({
    createdAt: account.body.created_at,
    vaultBalance: { balance: funds.body.payment_layer.balance, asOf: expect.any(String) },
  });
});

test("the total of a usage history counts the requests that are listed, and not those of removed months", async () => {
  const { database } = stack().app;
  const [owner, other] = [await seedAccount(database, 1_000n), await seedAccount(database, 1_000n)];
  for (const ago of [2, 0])
    await fillMonth(database, monthsAgo(ago), { seeded: [owner, other], requests: 8 });
  const log = createLogger("silent");
  const rollups = new UsageRollups({ database, log });
  const ledger = new LedgerService(database);
  const policy = { requestsMonths: 1, ledgerMonths: undefined, folder: newFolder() };
  await new RetentionService({ database, log, policy, ledger, rollups }).run();
  const secret = await openSession(stack().app, owner.account);
  const { viewer } = await read<{ viewer: { account: { usage: object } } }>(
    secret,
    "{ viewer { account { usage { stats { requestCount } history(first: 100) { totalCount nodes { number } } } } } }",
  );
  expect(viewer.account.usage).toEqual({
    stats: { requestCount: "8" },
    history: { totalCount: 4, nodes: [8, 7, 6, 5].map((number) => ({ number: `${number}` })) },
  });
});

describe("a billed request", () => {
  test("shows the tokens that a cache stored, in its record and in the totals", async () => {
    const owner = await seedAccount(stack().app.database, 1_000_000n);
    services().messages.behaviour = {
      usageJson: JSON.stringify({
        ...{ input_tokens: 10, output_tokens: 3, cache_creation_input_tokens: 30 },
        cache_creation: { ephemeral_5m_input_tokens: 25, ephemeral_1h_input_tokens: 5 },
      }),
    };
    const body = { model, max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
    await rest(stack().origin, "/v1/messages", owner.secret, { body });
    const secret = await openSession(stack().app, owner.account);
    const written = { cacheWriteTokens: 25, cacheWrite1hTokens: 5 };
    const totals = { cacheWriteTokens: "25", cacheWrite1hTokens: "5" };
    const usage = await until(async () => {
      const fields = "cacheWriteTokens cacheWrite1hTokens";
      const { viewer } = await read<{ viewer: { account: { usage: { history: { nodes: object[] } } } } }>(
        secret,
        `{ viewer { account { usage { stats { ${fields} } history { nodes { ${fields} } } } } } }`,
      );
      return viewer.account.usage.history.nodes.length === 1 && viewer.account.usage;
    });
    expect(usage).toEqual({ stats: totals, history: { nodes: [written] } });
  });

  test("has a receipt for the key that sent it, and for no other", async () => {
    const owner = await seedAccount(stack().app.database, 1_000_000n);
    const other = await stack().app.apiKeys.create(owner.account, "another");
    const { data } = await ask(
      stack().origin,
      owner.secret,
      `mutation { createMessage(input: { model: "${model}", messages: [{ role: USER, content: "Hi" }], maxTokens: 3 }) {
        message { bill { requestId cost { total } } } } }`,
    );
    const { requestId, cost } = data.createMessage.message.bill;
    const query = `{ receipt(requestId: "${requestId}") { charge keyId canonicalJson } receiptLog { keyId } }`;
    const { receipt, receiptLog } = await until(async () => {
      const found = await read<{ receipt: { charge: string; keyId: string } | null; receiptLog: object }>(
        owner.secret,
        query,
      );
      return found.receipt !== null && { ...found, receipt: found.receipt };
    });
    expect(receipt.charge).toBe(cost.total);
    expect(receiptLog).toEqual({ keyId: receipt.keyId });
    expect(await read(other.secret, `{ receipt(requestId: "${requestId}") { charge } }`)).toEqual({
      receipt: null,
    });
  });
});

test("storageStatus is that of GET /node/status", async () => {
  const { body } = await rest<{
    data: { logSyncHeight: number; logSyncBlock: string; nextTxSeq: number };
  }>(stack().origin, "/node/status");
  const { storageStatus } = await read<{ storageStatus: { blockNumber: string; nextTxSeq: string } }>(
    "",
    "{ storageStatus { blockNumber blockHash nextTxSeq } }",
  );
  expect(storageStatus.nextTxSeq).toBe(String(body.data.nextTxSeq));
  expect(Number(storageStatus.blockNumber)).toBeGreaterThanOrEqual(body.data.logSyncHeight);
});

test("routingPreview refuses a number of choices that a chat may not have, as REST does", async () => {
  const owner = await seedAccount(stack().app.database, 1_000n);
  const preview = (n: number) =>
    ask(
      stack().origin,
      owner.secret,
      `{ routingPreview(serviceType: CHATBOT, n: ${n}) { providers { address } } }`,
    );
  expect((await preview(2)).data.routingPreview.providers).not.toEqual([]);
  expect((await preview(0)).errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter", param: "n" });
});
