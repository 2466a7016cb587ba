import { defineEntity, type EntityManager, LockMode, p } from "@mikro-orm/core";
import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import type { Settlement } from "../../src/accounts/settlements.store.ts";
import type { Database } from "../../src/db/database.ts";
import { NeuronType } from "../../src/db/neuron.type.ts";
import { InferenceRequestRow } from "../../src/inference/requests/request.row.ts";

const neuron = () => p.type(NeuronType).$type<bigint>();

const Account = defineEntity({
  name: "BenchAccount",
  tableName: "account",
  properties: { address: p.text().primary(), deposit: neuron(), held: neuron() },
});

const Key = defineEntity({
  name: "BenchKey",
  tableName: "api_key",
  properties: {
    id: p.uuid().primary(),
    held: neuron(),
    used: neuron(),
    spentAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
  },
});

const Hold = defineEntity({
  name: "BenchHold",
  tableName: "hold",
  properties: {
    id: p.text().primary(),
    account: p.text(),
    apiKeyId: p.uuid(),
    amount: neuron(),
    fromCredit: neuron(),
    state: p.text().$type<"open" | "settled">(),
    expiresAt: p.datetime(),
    resolvedAt: p.datetime().nullable(),
  },
});

const Transfer = defineEntity({
  name: "BenchTransfer",
  tableName: "ledger_transfer",
  properties: {
    id: p.bigint().primary().autoincrement(),
    transferId: p.text(),
    fromBook: p.text(),
    toBook: p.text(),
    account: p.text(),
    amount: neuron(),
    cause: p.text(),
  },
});

const Event = defineEntity({
  name: "BenchEvent",
  tableName: "outbox",
  properties: {
    id: p.bigint().primary().autoincrement(),
    topic: p.text(),
    subject: p.text(),
    data: p.json<object>(),
  },
});

/** Holds and settlements as an entity manager writes them: load, lock, change, flush, one transaction each. */
export function entityManagerHolds(database: Database) {
  // The product has an entity for the key as well, but leaves its held amount to SQL.
  const discovery = database.orm.config.get("discovery");
  database.orm.config.set("discovery", { ...discovery, checkDuplicateTableNames: false });
  database.orm.discoverEntity([Account, Key, Hold, Transfer, Event]);
  return {
    hold: (request: HoldRequest) => database.transaction(({ em }) => hold(em, request)),
    settle: (settlement: Settlement) => database.transaction(({ em }) => settle(em, settlement)),
  };
}

async function hold(em: EntityManager, request: HoldRequest): Promise<bigint> {
  const { id, account: address, maximum: amount } = request;
  const key = await em.findOneOrFail(Key, request.keyId, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const account = await em.findOneOrFail(Account, address, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (key.revokedAt || account.deposit < amount) throw new Error("refused");
  account.deposit -= amount;
  account.held += amount;
  key.held += amount;
  const { model, provider, serviceType, inputPrice, outputPrice } = request;
  em.create(InferenceRequestRow, {
    ...{ id, account: address, apiKeyId: key.id, model, provider, serviceType, inputPrice, outputPrice },
    ...{ cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
    ...{ status: "running", usageEstimated: false, createdAt: new Date() },
  } as never);
  // The request first: the hold refers to it without a relation that would order them.
  await em.flush();
  const expiresAt = new Date(Date.now() + request.expiresInSeconds * 1_000);
  em.create(Hold, {
    id,
    account: address,
    apiKeyId: key.id,
    amount,
    fromCredit: 0n,
    state: "open",
    expiresAt,
    resolvedAt: null,
  });
  book(em, `hold:${id}`, "hold", address, [["deposit", "held", amount]]);
  tell(em, address, "hold");
  await em.flush();
  return amount;
}

async function settle(em: EntityManager, { id, inputCost, outputCost }: Settlement): Promise<bigint> {
  const open = await em.findOneOrFail(Hold, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (open.state !== "open") return 0n;
  const key = await em.findOneOrFail(Key, open.apiKeyId, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const account = await em.findOneOrFail(Account, open.account, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const request = await em.findOneOrFail(InferenceRequestRow, id);
  const cost = inputCost + outputCost;
  open.state = "settled";
  open.resolvedAt = new Date();
  account.deposit += open.amount - cost;
  account.held -= open.amount;
  key.held -= open.amount;
  key.used += cost;
  key.spentAt = new Date();
  Object.assign(request, {
    status: "completed",
    inputCost,
    outputCost,
    totalCost: cost,
    finishedAt: new Date(),
  });
  book(em, `settle:${id}`, "settled", open.account, [
    ["held", "deposit", open.amount - cost],
    ["held", "revenue", cost],
  ]);
  tell(em, open.account, "settlement");
  await em.flush();
  return cost;
}

function book(
  em: EntityManager,
  transferId: string,
  cause: string,
  account: string,
  transfers: readonly (readonly [string, string, bigint])[],
): void {
  for (const [fromBook, toBook, amount] of transfers)
    em.create(Transfer, { transferId, fromBook, toBook, account, amount, cause } as never);
}

function tell(em: EntityManager, account: string, cause: string): void {
  em.create(Event, { topic: "balance.changed", subject: account, data: { account, cause } } as never);
}
