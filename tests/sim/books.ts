import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import type { Settlement } from "../../src/accounts/settlements.store.ts";
import type { Database } from "../../src/db/database.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { demand, Fault } from "./fault.ts";
import type { SimChat } from "./world/chat.ts";
import { ConnectionBroke } from "./world/gate.ts";
import type { SimJob } from "./world/job.ts";

const DAY_MS = 86_400_000;
const ID_LENGTH = 36;

/** A key in the model. A limit applies per day (UTC), or for the key's lifetime. */
export type KeyBook = {
  readonly id: string;
  readonly account: string;
  readonly limit: bigint | undefined;
  readonly period: "daily" | "never";
  /** Its revocation was answered. */
  isRevoked: boolean;
  /** Its revocation has begun. */
  isEnding: boolean;
  spent: bigint;
  spentAtMs: number;
};

/** What a request in progress may cost. `expiresAtMs` is that of a hold of its own, which a job has. */
type OpenHold = {
  readonly account: string;
  readonly keyId: string;
  readonly amount: bigint;
  readonly expiresAtMs: number;
  /** The allotment that pays for it, and its process; of a chat. */
  readonly process?: number;
  allotmentId?: string | undefined;
};

/** A process as the database names it. */
export type KnownProcess = { readonly id: number; readonly processId: string };

/**
 * The expected state of the ledger, as simple arithmetic independent of the product. Every answer of the
 * product is checked against it at once. What the product could not report, because a connection broke, is
 * read from the database (`reread`).
 */
export class LedgerModel {
  /** The balance of each account, held or not. */
  readonly totals = new Map<string, bigint>();
  /** What of it is neither in a hold nor in an allotment. */
  readonly free = new Map<string, bigint>();
  /** What allotments of dead processes still bind, by account and by key. */
  readonly #lost = new Map<string, bigint>();
  /** What holds and allotments have of each key's limit. */
  readonly #heldOfKeys = new Map<string, bigint>();
  /** What was granted to each chat, also after its end. */
  readonly grants = new Map<string, bigint>();
  readonly keys = new Map<string, KeyBook>();
  readonly holds = new Map<string, OpenHold>();
  /** The chats whose settlement failed: their processes repeat it, if it was not executed. */
  readonly #repeated = new Set<string>();
  readonly chats = new Map<string, SimChat>();
  readonly jobs = new Map<string, SimJob>();
  /** The pending ends of jobs, by the ids of their requests; they apply when their transaction commits. */
  readonly #ending = new Map<string, { readonly settlement: Settlement; readonly charged: bigint }>();
  /** Checks that need the complete state of this moment. */
  #later: (() => void)[] = [];

  /** The job with this request id, if there is one. */
  jobOf(requestId: string): SimJob | undefined {
    return requestId.startsWith("async-") ? this.jobs.get(requestId.slice(-ID_LENGTH)) : undefined;
  }

  granted(request: HoldRequest, amount: bigint, nowMs: number): void {
    const key = this.#key(request.keyId);
    demand(!key.isRevoked, `a hold was granted to a revoked key (${request.id})`);
    demand(amount >= request.minimum && amount <= request.maximum, `a hold of ${amount} for ${request.id}`);
    const expiresAtMs = nowMs + request.expiresInSeconds * 1_000;
    const process = this.chats.get(request.id)?.process;
    const { account } = request;
    this.holds.set(request.id, {
      account,
      keyId: key.id,
      amount,
      expiresAtMs,
      ...(process !== undefined && { process }),
    });
    if (process !== undefined) this.grants.set(request.id, amount);
    this.#later.push(() => this.#judgeCharge(account, key, nowMs));
  }

  /** A refusal for want of money is just if there is none, or if it was in allotments that were recalled in vain. */
  refused(request: HoldRequest, error: unknown, nowMs: number, hasRecalled: boolean): void {
    if (error instanceof ConnectionBroke) {
      this.disturb(request.id);
      return;
    }
    if (!(error instanceof AppError)) throw new Fault(`a hold failed: ${String(error)}`);
    const key = this.#key(request.keyId);
    const isJust = () => {
      if (error.code === "api_key_revoked") return key.isEnding;
      // Another process did not return what it held within 15 s.
      if (error.code === "unavailable") return hasRecalled;
      const left = this.#leftOf(key, nowMs);
      if (error.code === "credit_limit_exceeded")
        return left !== undefined && (hasRecalled || left < request.minimum);
      const isShort = this.#availableOf(request.account) < request.minimum;
      return error.code === "insufficient_balance" && (hasRecalled || isShort);
    };
    this.#later.push(() => demand(isJust(), `${request.id} was refused without reason: ${error.code}`));
  }

  settled(settlement: Settlement, charged: bigint, nowMs: number): void {
    const { id } = settlement;
    if (this.#repeated.has(id)) {
      demand(charged === 0n, `${charged} was charged for ${id}, whose settlement is being repeated`);
      return;
    }
    const chat = this.#chat(id);
    const hold = this.holds.get(id) ?? (chat.isUncovered && charged > 0n ? uncovered(chat) : undefined);
    if (!hold) {
      // It ran for longer than anything is held for, and was ended meanwhile.
      if (chat.isUncovered) this.disturb(id);
      demand(charged === 0n, `${charged} was charged for ${id}, whose hold had ended`);
      return;
    }
    // It was ended at the same moment, without a charge.
    if (hold.expiresAtMs < nowMs && charged === 0n) chat.isDisturbed = true;
    if (settlement.outcome === "failed") chat.gaveUp(nowMs);
    const owed = chat.over?.owed ?? 0n;
    const isDue = charged >= least(owed, hold.amount) || chat.isUncovered;
    demand(
      (isDue && charged <= owed) || (chat.isDisturbed && charged === 0n),
      `${id} was charged ${charged} of a hold of ${hold.amount} and owes ${owed}`,
    );
    this.#release(id, hold, charged, nowMs);
    // The settlements of one statement share what all of them release, so the rest is checked when all are
    // known.
    if (charged < owed && charged > 0n && !chat.isUncovered)
      this.#later.push(() =>
        demand(
          this.#isSpent(hold, nowMs),
          `${id} was charged ${charged} of ${owed}, although more was available`,
        ),
      );
  }

  /** Whether the account of a hold, or its key, has nothing left to spend. */
  #isSpent({ account, keyId }: OpenHold, nowMs: number): boolean {
    const key = this.#key(keyId);
    const held = this.#heldOfKeys.get(keyId) ?? 0n;
    const isAtLimit = key.limit !== undefined && key.limit - held - this.#spentOf(key, nowMs) <= 0n;
    return this.#freeOf(account) <= 0n || isAtLimit;
  }

  /** Its process repeats the settlement, which may have been executed. Until then its money remains held. */
  settleFailed({ id }: Settlement, error: unknown): void {
    if (!(error instanceof ConnectionBroke)) throw new Fault(`settling ${id} failed: ${String(error)}`);
    this.disturb(id);
    if (this.holds.has(id)) this.#repeated.add(id);
  }

  /** The product ends a job, in a transaction that may still fail. */
  jobEnds(settlement: Settlement, charged: bigint): void {
    this.#ending.set(settlement.id, { settlement, charged });
  }

  /** The hold of a job is gone, in a transaction that was committed. */
  jobEnded(id: string, hold: OpenHold, nowMs: number): void {
    const job = this.jobOf(id);
    const ending = this.#ending.get(id);
    // A sweep released it, which has not ended yet.
    if (!ending && hold.expiresAtMs < nowMs) {
      this.disturb(id);
      return;
    }
    demand(job !== undefined && ending !== undefined, `the hold of ${id} is gone, and its job did not end`);
    const { settlement, charged } = ending;
    const provider = settlement.answeredBy?.provider ?? "";
    demand(job.owes(settlement.outcome, provider, charged), `job ${job.id} was charged ${charged}`);
    demand(charged <= hold.amount, `job ${job.id} was charged ${charged} of ${hold.amount}`);
  }

  /** A request was affected by something outside the product's control: its charge may be zero. */
  disturb(id: string): void {
    const request = this.jobOf(id) ?? this.#chat(id);
    request.isDisturbed = true;
  }

  /** Runs the checks that needed the complete state of this moment. */
  judge(): void {
    for (const check of this.#later.splice(0)) check();
  }

  /**
   * Reads the balances, as deposits are credited without an answer to any client, and the allotments: those of dead
   * processes, and which chats of these processes are not covered any more.
   */
  async rereadMoney(database: Database, processes: readonly KnownProcess[], nowMs: number): Promise<void> {
    type Row = { id: string; process: string; account: string; key: string; amount: string };
    const rows = await database.rows<Row>(ALLOTMENTS);
    for (const row of await database.rows<{ address: string; total: string; free: string }>(TOTALS)) {
      this.totals.set(row.address, BigInt(row.total));
      this.free.set(row.address, BigInt(row.free));
    }
    for (const { id, held } of await database.rows<{ id: string; held: string }>(HELD_OF_KEYS))
      this.#heldOfKeys.set(id, BigInt(held));
    await this.#forgetRepeated(database);
    await this.#forgetOverdue(database, nowMs);
    this.#lost.clear();
    for (const { process, account, key, amount } of rows)
      if (!processes.some(({ processId }) => processId === process))
        for (const subject of [account, key])
          this.#lost.set(subject, (this.#lost.get(subject) ?? 0n) + BigInt(amount));
    for (const [id, hold] of this.holds) {
      if (hold.process === undefined) continue;
      const processId = processes.find((process) => process.id === hold.process)?.processId;
      const current = rows.find(({ process, key }) => process === processId && key === hold.keyId)?.id;
      hold.allotmentId ??= current;
      if (hold.allotmentId === current) continue;
      this.#chat(id).isUncovered = true;
      this.holds.delete(id);
    }
  }

  /** Forgets the chats whose repeated settlement is in the database, and reads what their keys have spent with it. */
  async #forgetRepeated(database: Database): Promise<void> {
    if (this.#repeated.size === 0) return;
    const ended = await database.rows<{ id: string }>(ENDED_OF, [JSON.stringify([...this.#repeated])]);
    for (const { id } of ended) {
      this.#repeated.delete(id);
      this.holds.delete(id);
    }
    if (ended.length > 0) await this.#rereadKeys(database);
  }

  /** What was held for longer than that lasts was released without a charge, by a sweep or by the process itself. */
  async #forgetOverdue(database: Database, nowMs: number): Promise<void> {
    const overdue = [...this.holds].flatMap(([id, { expiresAtMs }]) => (expiresAtMs < nowMs ? [id] : []));
    if (overdue.length === 0) return;
    for (const { id } of await database.rows<{ id: string }>(EXPIRED, [JSON.stringify(overdue)])) {
      this.holds.delete(id);
      this.disturb(id);
      const chat = this.chats.get(id);
      if (chat) chat.isUncovered = true;
    }
  }

  /** Reads everything that a broken connection withheld. */
  async reread(database: Database): Promise<void> {
    type Hold = { id: string; account: string; key: string; amount: string; expires_ms: string };
    for (const id of [...this.holds.keys()]) if (this.jobOf(id)) this.holds.delete(id);
    await this.#rereadKeys(database);
    for (const row of await database.rows<Hold>(HOLDS)) {
      const { id, account, key: keyId } = row;
      const expiresAtMs = Number(row.expires_ms);
      this.holds.set(id, { account, keyId, amount: BigInt(row.amount), expiresAtMs });
    }
  }

  async #rereadKeys(database: Database): Promise<void> {
    type Key = { id: string; used: string; spent_ms: string | null };
    for (const row of await database.rows<Key>(KEYS)) {
      const key = this.keys.get(row.id);
      if (!key) continue;
      key.spent = BigInt(row.used);
      key.spentAtMs = Number(row.spent_ms ?? 0);
    }
  }

  #release(id: string, hold: OpenHold, charged: bigint, nowMs: number): void {
    this.holds.delete(id);
    const key = this.#key(hold.keyId);
    if (charged === 0n) return;
    key.spent = this.#spentOf(key, nowMs) + charged;
    key.spentAtMs = nowMs;
    this.#later.push(() => this.#judgeCharge(hold.account, key, nowMs));
  }

  #leftOf(key: KeyBook, nowMs: number): bigint | undefined {
    if (key.limit === undefined) return undefined;
    return key.limit - this.#heldBy("keyId", key.id) - this.#spentOf(key, nowMs);
  }

  /** What is left of an account besides what its requests in progress may cost. */
  #availableOf(account: string): bigint {
    return (this.totals.get(account) ?? 0n) - this.#heldBy("account", account);
  }

  /** What neither holds nor allotments have of an account. */
  #freeOf(account: string): bigint {
    return this.free.get(account) ?? 0n;
  }

  #heldBy(by: "account" | "keyId", subject: string): bigint {
    let sum = this.#lost.get(subject) ?? 0n;
    for (const hold of this.holds.values()) if (hold[by] === subject) sum += hold.amount;
    return sum;
  }

  #spentOf({ period, spent, spentAtMs }: KeyBook, nowMs: number): bigint {
    const isOver = period === "daily" && Math.floor(spentAtMs / DAY_MS) !== Math.floor(nowMs / DAY_MS);
    return isOver ? 0n : spent;
  }

  /** No key is over its limit, and no account overdrawn, whatever was charged beyond a hold. */
  #judgeCharge(account: string, key: KeyBook, nowMs: number): void {
    const left = this.#availableOf(account);
    demand(left >= 0n, `${account} is overdrawn: ${left}`);
    const leftOfKey = this.#leftOf(key, nowMs);
    demand(leftOfKey === undefined || leftOfKey >= 0n, `key ${key.id} is over its limit: ${leftOfKey}`);
  }

  #chat(id: string): SimChat {
    const chat = this.chats.get(id);
    if (!chat) throw new Fault(`nobody asked for ${id}`);
    return chat;
  }

  #key(id: string): KeyBook {
    const key = this.keys.get(id);
    if (!key) throw new Fault(`there is no key ${id}`);
    return key;
  }
}

/** What a chat has left whose allotment was released: nothing. */
function uncovered({ account, keyId }: SimChat): OpenHold {
  return { account, keyId, amount: 0n, expiresAtMs: Number.POSITIVE_INFINITY };
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

const TOTALS = `
  select address, (deposit + credit + held)::text as total, (deposit + credit)::text as free from account`;

const HELD_OF_KEYS = "select id::text as id, held::text as held from api_key";

const ENDED_OF = `
  select id from inference_request
  where id in (select jsonb_array_elements_text($1::jsonb)) and status <> 'running'`;

const EXPIRED = `
  select id from inference_request
  where id in (select jsonb_array_elements_text($1::jsonb)) and status = 'failed' and error_code = 'expired'
  union all
  select id from hold where id in (select jsonb_array_elements_text($1::jsonb)) and state = 'expired'`;

const ALLOTMENTS = `
  select id::text as id, process_id::text as process, account, api_key_id::text as key, amount::text as amount
  from allotment`;

const KEYS = `
  select id::text as id, used::text as used,
    (extract(epoch from spent_at) * 1000)::bigint::text as spent_ms
  from api_key`;

const HOLDS = `
  select h.id, h.account, h.api_key_id::text as key, h.amount::text as amount,
    (extract(epoch from h.expires_at) * 1000)::bigint::text as expires_ms
  from hold h where h.state = 'open'`;
