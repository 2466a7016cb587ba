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
  isRevoked: boolean;
  held: bigint;
  spent: bigint;
  spentAtMs: number;
};

type OpenHold = {
  readonly account: string;
  readonly keyId: string;
  readonly amount: bigint;
  readonly expiresAtMs: number;
};

/**
 * The expected state of the ledger, as simple arithmetic independent of the product. Every answer of the
 * product is checked against it at once. What the product could not report, because a connection broke, is
 * read from the database (`reread`).
 */
export class LedgerModel {
  readonly available = new Map<string, bigint>();
  readonly keys = new Map<string, KeyBook>();
  readonly holds = new Map<string, OpenHold>();
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
    this.#add(request.account, -amount);
    const expiresAtMs = nowMs + request.expiresInSeconds * 1_000;
    this.holds.set(request.id, { account: request.account, keyId: key.id, amount, expiresAtMs });
    key.held += amount;
    this.#judgeCharge(request.account, key, nowMs);
  }

  refused(request: HoldRequest, error: unknown, nowMs: number): void {
    if (error instanceof ConnectionBroke) {
      this.disturb(request.id);
      return;
    }
    if (!(error instanceof AppError)) throw new Fault(`a hold failed: ${String(error)}`);
    const key = this.#key(request.keyId);
    const isJust = () => {
      if (error.code === "api_key_revoked") return key.isRevoked;
      const left = this.#leftOf(key, nowMs);
      if (error.code === "credit_limit_exceeded") return left !== undefined && left < request.minimum;
      const available = this.available.get(request.account) ?? 0n;
      return error.code === "insufficient_balance" && available < request.minimum;
    };
    this.#later.push(() => demand(isJust(), `${request.id} was refused without reason: ${error.code}`));
  }

  settled(settlement: Settlement, charged: bigint, nowMs: number): void {
    const { id } = settlement;
    const hold = this.holds.get(id);
    const chat = this.#chat(id);
    if (!hold) {
      demand(charged === 0n, `${charged} was charged for ${id}, whose hold had ended`);
      return;
    }
    if (settlement.outcome === "failed") chat.gaveUp(nowMs);
    const owed = chat.over?.owed ?? 0n;
    demand(
      (charged >= least(owed, hold.amount) && charged <= owed) || (chat.isDisturbed && charged === 0n),
      `${id} was charged ${charged} of a hold of ${hold.amount} and owes ${owed}`,
    );
    this.#release(id, hold, charged, nowMs);
    // The settlements of one statement share what all of them release, so the rest is checked when all are
    // known.
    if (charged < owed && charged > 0n)
      this.#later.push(() =>
        demand(
          this.#isSpent(hold, nowMs),
          `${id} was charged ${charged} of ${owed}, although more was available`,
        ),
      );
  }

  /** Whether the account of a hold, or its key, has nothing left to spend. */
  #isSpent({ account, keyId }: OpenHold, nowMs: number): boolean {
    const leftOfKey = this.#leftOf(this.#key(keyId), nowMs);
    return this.available.get(account) === 0n || (leftOfKey !== undefined && leftOfKey <= 0n);
  }

  settleFailed({ id }: Settlement, error: unknown): void {
    if (!(error instanceof ConnectionBroke)) throw new Fault(`settling ${id} failed: ${String(error)}`);
    this.disturb(id);
  }

  /** The product ends a job, in a transaction that may still fail. */
  jobEnds(settlement: Settlement, charged: bigint): void {
    this.#ending.set(settlement.id, { settlement, charged });
  }

  /** The hold of a job is gone, in a transaction that was committed. */
  jobEnded(id: string, hold: OpenHold): void {
    const job = this.jobOf(id);
    const ending = this.#ending.get(id);
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

  /** Reads the balances: deposits are credited without an answer to any client. */
  async rereadAvailable(database: Database): Promise<void> {
    for (const row of await database.rows<{ address: string; available: string }>(AVAILABLE))
      this.available.set(row.address, BigInt(row.available));
  }

  /** Reads everything that a broken connection withheld. */
  async reread(database: Database): Promise<void> {
    type Hold = { id: string; account: string; key: string; amount: string; expires_ms: string };
    type Key = { id: string; held: string; used: string; spent_ms: string | null };
    this.holds.clear();
    await this.rereadAvailable(database);
    for (const row of await database.rows<Key>(KEYS)) {
      const key = this.keys.get(row.id);
      if (!key) continue;
      key.held = BigInt(row.held);
      key.spent = BigInt(row.used);
      key.spentAtMs = Number(row.spent_ms ?? 0);
    }
    for (const row of await database.rows<Hold>(HOLDS)) {
      const { id, account, key: keyId } = row;
      const expiresAtMs = Number(row.expires_ms);
      this.holds.set(id, { account, keyId, amount: BigInt(row.amount), expiresAtMs });
    }
  }

  #release(id: string, hold: OpenHold, charged: bigint, nowMs: number): void {
    this.holds.delete(id);
    this.#add(hold.account, hold.amount - charged);
    const key = this.#key(hold.keyId);
    key.held -= hold.amount;
    if (charged === 0n) return;
    key.spent = this.#spentOf(key, nowMs) + charged;
    key.spentAtMs = nowMs;
    this.#later.push(() => this.#judgeCharge(hold.account, key, nowMs));
  }

  #leftOf(key: KeyBook, nowMs: number): bigint | undefined {
    return key.limit === undefined ? undefined : key.limit - key.held - this.#spentOf(key, nowMs);
  }

  #spentOf({ period, spent, spentAtMs }: KeyBook, nowMs: number): bigint {
    const isOver = period === "daily" && Math.floor(spentAtMs / DAY_MS) !== Math.floor(nowMs / DAY_MS);
    return isOver ? 0n : spent;
  }

  #add(account: string, amount: bigint): void {
    this.available.set(account, (this.available.get(account) ?? 0n) + amount);
  }

  /** No key is over its limit, and no account overdrawn, whatever was charged beyond a hold. */
  #judgeCharge(account: string, key: KeyBook, nowMs: number): void {
    const left = this.available.get(account) ?? 0n;
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

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

const AVAILABLE = "select address, (deposit + credit)::text as available from account";

const KEYS = `
  select id::text as id, held::text as held, used::text as used,
    (extract(epoch from spent_at) * 1000)::bigint::text as spent_ms
  from api_key`;

const HOLDS = `
  select h.id, h.account, h.api_key_id::text as key, h.amount::text as amount,
    (extract(epoch from h.expires_at) * 1000)::bigint::text as expires_ms
  from hold h where h.state = 'open'`;
