import type { HoldRequest } from "../../../src/accounts/holds.store.ts";
import type { Database } from "../../../src/db/database.ts";
import type { Bus } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { ApiKeyService } from "../../../src/keys/api-keys/api-key.service.ts";
import { seedAccount } from "../../support/seed.ts";
import { auditLedger } from "../audit.ts";
import { type KeyBook, LedgerModel } from "../books.ts";
import { demand } from "../fault.ts";
import type { Plant } from "../plants.ts";
import { type RunCheck, readBill, watchedSink, watchHolds } from "../watch.ts";
import { type RpcMood, SimChain } from "./chain.ts";
import { SimChat } from "./chat.ts";
import { SimClock } from "./clock.ts";
import { ConnectionBroke, Gate, GatedDatabase } from "./gate.ts";
import { SimJob } from "./job.ts";
import { SimLeases } from "./leases.ts";
import { IMAGE_MODEL, MODEL, UNIT } from "./offers.ts";
import { type SimExchange, SimProviders } from "./provider.ts";
import { bootRouter, depositsOn, type Router, resumesStreams, TOTAL_MS, VAULT } from "./router.ts";

const ID_LENGTH = 36;
const NEWEST = 3;
const BEGIN = new Date("2031-03-01T20:00:00Z");

/**
 * Everything that a run consists of: two routers on one database, a chain, providers, clients, and the model.
 */
export class World {
  readonly books = new LedgerModel();
  readonly gate = new Gate(() => this.clock.forget());
  readonly clock: SimClock;
  readonly chain: SimChain;
  readonly providers = new SimProviders((exchange) => this.#runCheck(() => this.#judgeAsked(exchange)));
  readonly accounts: Hex[] = [];
  routers: Router[] = [];
  rpcMood: RpcMood = "good";
  busFails = false;
  /** The events that one subscriber to everything received, without duplicates. */
  readonly publishedEvents: DomainEvent[] = [];
  readonly #publishedEvents = new Set<string>();
  readonly database: Database;
  readonly #plant: Plant;
  readonly #leases = new SimLeases();
  readonly #apiKeys: ApiKeyService;
  #fault: Error | undefined;
  #newestPosition = 0n;
  #hasSwept = false;
  /** The number of images of the job that is being submitted. */
  #asking = 0;

  private constructor(database: Database, plant: Plant) {
    this.database = database;
    this.#plant = plant;
    this.clock = new SimClock(database);
    const gated = new GatedDatabase(database, this.gate, { id: -1, alive: true }, plant.rewrite);
    this.#apiKeys = new ApiKeyService({ database: gated, clock: this.clock, committed: () => {} });
    this.chain = new SimChain({ vault: VAULT, topic: depositsOn(database).topics[0] ?? "0x" });
  }

  /** A world with three accounts of low balance and five keys, on an empty database. */
  static async create(database: Database, plant: Plant): Promise<World> {
    const world = new World(database, plant);
    await database.rows(EMPTY);
    await database.rows(NO_RECEIPTS);
    world.clock.set(BEGIN);
    await world.clock.tell();
    for (const price of [60n, 25n, 0n]) await world.#open(price * UNIT);
    world.routers = [0, 1].map((id) => world.#boot(id));
    return world;
  }

  /** Violations found outside of a step. */
  check(): void {
    this.books.judge();
    if (this.#fault) throw this.#fault;
    for (const { subject } of this.providers.exchanges) {
      const chat = this.books.chats.get(subject);
      demand(!chat?.hasLeft, `the client of ${subject} disconnected, and its provider was not stopped`);
    }
  }

  ask(given: { router: number; key: number; stream: boolean; prompt: number; limit: number }): void {
    const router = this.routers[given.router % this.routers.length];
    const key = [...this.books.keys.values()][given.key % this.books.keys.size];
    if (!router || !key) return;
    const maxTokens = given.limit === 0 ? undefined : given.limit;
    const leaving = new AbortController();
    const chat = new SimChat({
      id: newRequestId(),
      process: router.process.id,
      account: key.account,
      keyId: key.id,
      isStream: given.stream,
      promptTokens: given.prompt,
      maxTokens,
      resumes: resumesStreams(router.process),
      leave: () => leaving.abort(),
    });
    this.books.chats.set(chat.id, chat);
    const fields = { user: chat.id, prompt_tokens: given.prompt };
    const request = {
      model: MODEL,
      stream: given.stream,
      wantsUsage: false,
      maxTokens,
      choices: 1,
      prompt: { maxTokens: given.prompt, likelyTokens: given.prompt, isShort: true },
      preferences: {},
      bytes: Buffer.from(JSON.stringify(fields)),
      fields,
    };
    const caller = { account: key.account, keyId: key.id, requestId: chat.id };
    const asked = given.stream
      ? router.chat.stream(request, caller, watchedSink(chat, leaving.signal, this.#runCheck))
      : router.chat
          .complete(request, caller, leaving.signal)
          .then(({ body }) => readBill(chat, body.toString()));
    asked.then(
      () => {
        chat.isAnswered = true;
      },
      (error: unknown) => {
        chat.isAnswered = true;
        if (!isExpected(error)) this.#note(error);
      },
    );
  }

  submit(given: { router: number; key: number; images: number }): void {
    const router = this.routers[given.router % this.routers.length];
    const key = [...this.books.keys.values()][given.key % this.books.keys.size];
    if (!router || !key) return;
    const body = { model: IMAGE_MODEL, prompt: "the sea", n: given.images };
    const ask = {
      operation: "generations",
      body: Buffer.from(JSON.stringify(body)),
      contentType: "application/json",
      preferences: {},
    } as const;
    this.#asking = given.images;
    router.imageJobs
      .submit(ask, { account: key.account, keyId: key.id })
      .catch((error: unknown) => !isExpected(error) && this.#note(error));
  }

  /** Cancels one of the newest jobs, as only those may still be pending. */
  cancel(n: number, which: number): void {
    const job = [...this.books.jobs.values()].at(-1 - (which % NEWEST));
    if (!job) return;
    this.routers[n % this.routers.length]?.cancellation
      .cancel({ account: job.account }, job.id)
      .catch((error: unknown) => !isExpected(error) && this.#note(error));
  }

  readonly work = (n: number): void => {
    this.#begin(n, "work", ({ jobRunner }) => jobRunner.take());
  };

  readonly renew = (n: number): void => {
    this.#begin(n, "renew", ({ jobRunner }) => jobRunner.renew());
  };

  scan(n: number): void {
    this.#begin(n, "scan", ({ scanner }) => scanner.step());
  }

  beat(n: number): void {
    this.#begin(n, "beat", ({ holds }) => holds.beat());
  }

  sweep(n: number): void {
    this.#begin(n, "sweep", ({ holds }) => holds.sweep());
  }

  publish(n: number): void {
    this.#begin(n, "publish", ({ relay }) => relay.publishBatch());
  }

  sequence(n: number, limit: number): void {
    this.#begin(n, "sequence", ({ sequencer }) => sequencer.sequence(limit));
  }

  signHead(n: number): void {
    this.#begin(n, "sign", ({ sequencer }) => sequencer.sign());
  }

  revoke(n: number): void {
    const key = [...this.books.keys.values()][n % this.books.keys.size];
    const [router] = this.routers;
    // Without a key there is nothing to simulate.
    if (!key || !router || [...this.books.keys.values()].filter(({ isRevoked }) => !isRevoked).length < 3)
      return;
    key.isEnding = true;
    this.#apiKeys.revoke(key.account, key.id).then(
      () => {
        key.isRevoked = true;
      },
      (error: unknown) => !isExpected(error) && this.#note(error),
    );
  }

  /**
   * kill -9: statements it had sent may still be committed, and their answers are lost. It restarts at once.
   */
  async crash(n: number, commits: number): Promise<void> {
    const router = this.routers[n % this.routers.length];
    if (!router) return;
    const { id } = router.process;
    router.process.alive = false;
    for (const chat of this.books.chats.values())
      if (chat.process === id && (!chat.isAnswered || this.books.holds.has(chat.id))) {
        chat.isDisturbed = true;
        chat.hasLeft = true;
        // Its money is in an allotment of a dead process.
        this.books.holds.delete(chat.id);
      }
    this.providers.drop(id);
    await this.clock.tell();
    const sent = this.gate.waiting.filter(({ process }) => process === id);
    for (const [at, entry] of sent.entries()) {
      if (((commits >> (at % 16)) & 1) === 1) await entry.commit();
      else entry.lose();
    }
    // Another id, so that what belonged to the first life is not taken for the second's.
    this.routers = this.routers.map((other) =>
      other === router ? this.#boot(id + this.routers.length) : other,
    );
    await this.#reread(false);
    await this.#rereadMoney();
  }

  /**
   * Runs the `n`th statement that waits for the database. `fate` is how: normally, never, or without its
   * answer.
   */
  async commit(n: number, fate: "well" | "lost" | "unheard" = "well"): Promise<void> {
    const entry = this.gate.waiting[n % this.gate.waiting.length];
    if (!entry) return;
    await this.clock.tell();
    if (fate === "lost") entry.lose();
    else if (fate === "unheard") await entry.commitUnheard();
    else await entry.commit();
    await quiet();
    if (fate === "unheard" || this.#hasSwept) await this.#reread(fate === "well");
    else if (entry.label === "transaction") await this.#rereadTransaction();
    await this.#leases.read(this.database, this.routers, entry.label);
    await this.#rereadMoney();
    this.check();
  }

  /** Reads the results of a transaction that its answer does not contain: credited deposits, ended jobs. */
  async #rereadTransaction(): Promise<void> {
    const jobs = [...this.books.holds].filter(([id]) => this.books.jobOf(id));
    if (jobs.length === 0) return;
    await this.books.reread(this.database);
    for (const [id, hold] of jobs)
      if (!this.books.holds.has(id)) this.books.jobEnded(id, hold, this.clock.monotonicMs());
  }

  /** Reads what the product did not report: holds that a sweep released, or commits whose answer was lost. */
  async #reread(isSwept: boolean): Promise<void> {
    this.#hasSwept = false;
    const before = new Map(this.books.holds);
    await this.books.reread(this.database);
    for (const [id, hold] of before) {
      if (this.books.holds.has(id)) continue;
      const isDue = hold.expiresAtMs < this.clock.monotonicMs();
      demand(isDue || !isSwept, `the hold of ${id} was swept before its time`);
      this.books.disturb(id);
    }
  }

  #rereadMoney(): Promise<void> {
    const processes = this.routers.map(({ process, processId }) => ({ id: process.id, processId }));
    return this.books.rereadMoney(this.database, processes, this.clock.monotonicMs());
  }

  /** Commits every statement that waits for the database, until there is none. */
  readonly drain = async (): Promise<void> => {
    await quiet();
    while (this.gate.waiting.length > 0) await this.commit(0);
    this.check();
  };

  /** The ledger in the database, which must be consistent at any moment. */
  verify(): Promise<void> {
    return auditLedger(this.database);
  }

  #boot(id: number): Router {
    const process = { id, alive: true };
    return bootRouter({
      process,
      database: new GatedDatabase(this.database, this.gate, process, this.#plant.rewrite),
      clock: this.clock,
      rpc: this.chain.rpc(() => this.rpcMood),
      client: this.providers.client(process),
      bus: this.#bus(),
      plant: this.#plant,
      watch: (holds) =>
        watchHolds(holds, {
          books: this.books,
          nowMs: () => this.clock.monotonicMs(),
          runCheck: (judge) => process.alive && this.#runCheck(judge),
          asked: (request) => this.#know(request),
          swept: () => {
            this.#hasSwept = true;
          },
          recalls: () => this.gate.recalls.get(id) ?? 0,
        }),
      admitted: ({ requestId, candidates }) => {
        const chat = this.books.chats.get(requestId);
        if (!chat) return;
        chat.candidates = candidates.length;
        chat.untilMs = this.clock.monotonicMs() + TOTAL_MS;
      },
    });
  }

  #bus(): Bus {
    return {
      isRefused: false,
      publish: async (events) => {
        for (const event of events) {
          if (event.position <= this.#newestPosition) continue;
          this.#newestPosition = event.position;
          if (this.#publishedEvents.has(event.id)) continue;
          this.#publishedEvents.add(event.id);
          this.publishedEvents.push(event);
        }
        if (this.busFails) throw new ConnectionBroke("the bus took the events and did not answer");
      },
      coversSince: () => false,
      restore: async () => {
        throw new Error("the bus lost nothing");
      },
      isSeeded: async () => true,
      markSeeded: async () => {},
      newestPosition: async () => this.#newestPosition,
      subscribe: () => Promise.reject(new Error("nobody subscribes")),
      close: async () => {},
    };
  }

  async #open(neuron: bigint): Promise<void> {
    const { account, keyId } = await seedAccount(this.database, 0n);
    this.accounts.push(account as Hex);
    this.#knowKey({ id: keyId, account, limit: undefined, period: "never" });
    if (neuron === 0n) return;
    this.chain.pay(account as Hex, neuron);
    const limit = 30n * UNIT;
    const period = this.accounts.length === 1 ? "daily" : "never";
    const apiKeys = new ApiKeyService({ database: this.database, clock: this.clock, committed: () => {} });
    const { key } = await apiKeys.create(account, "limited", {
      creditLimit: limit,
      resetPeriod: period,
    });
    this.#knowKey({ id: key.id, account, limit, period });
  }

  /** A provider is called: there must be a hold for the request, and it must be the provider's turn. */
  #judgeAsked(exchange: SimExchange): void {
    const { kind, subject } = exchange;
    const chat = this.books.chats.get(subject);
    if (kind === "submit") this.books.jobs.get(subject)?.submitted(exchange);
    if (!chat) return;
    demand(
      this.books.holds.has(subject) || chat.isDisturbed || chat.isUncovered,
      `a provider was called for ${subject} without a hold`,
    );
    chat.tried(exchange);
  }

  /** The job whose hold is being placed. */
  #know({ id: requestId, account, keyId }: HoldRequest): void {
    const id = requestId.slice(-ID_LENGTH);
    this.books.jobs.set(id, new SimJob({ id, requestId, account, keyId, images: this.#asking }));
  }

  #knowKey(key: Pick<KeyBook, "id" | "account" | "limit" | "period">): void {
    this.books.keys.set(key.id, { ...key, isRevoked: false, isEnding: false, spent: 0n, spentAtMs: 0 });
  }

  /** Begins a sequential task of a router. */
  #begin(n: number, what: string, work: (router: Router) => Promise<unknown>): void {
    const router = this.routers[n % this.routers.length];
    if (!router || router.busy.has(what)) return;
    router.busy.add(what);
    work(router)
      .catch((error: unknown) => !isExpected(error) && this.#note(error))
      .finally(() => router.busy.delete(what));
  }

  readonly #runCheck: RunCheck = (judge) => {
    try {
      judge();
    } catch (error) {
      this.#note(error);
    }
  };

  #note(error: unknown): void {
    this.#fault ??= error instanceof Error ? error : new Error(String(error));
  }
}

/** More turns of the event loop than anything here waits for at once. */
const TURNS = 4;

/** Runs every promise that can continue, also in the next turns of the event loop. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const EXPECTED = new Set([
  "insufficient_balance",
  // Another process does not return what it holds.
  "unavailable",
  "credit_limit_exceeded",
  "api_key_revoked",
  "provider_error",
  "chain_error",
  "async_job_not_found",
  "async_job_not_pending",
]);

function isExpected(error: unknown): boolean {
  return error instanceof ConnectionBroke || (error instanceof AppError && EXPECTED.has(error.code));
}

const EMPTY = `
  truncate account, api_key, inference_request, hold, earlier_ledger_entry, ledger_transfer, deposit, outbox, outbox_forgotten,
    watcher_cursor, watcher_block, job, job_content, allotment, process_lease, receipt, receipt_draft, ledger_verification,
    verified_account, verified_key restart identity cascade`;
const NO_RECEIPTS = `
  update receipt_log
  set size = 0, edge = '', last_leaf = null, checkpoint = null, checkpoint_size = null, checkpoint_at = null`;
