import type { HoldsService } from "../../src/accounts/holds.service.ts";
import { readCursor } from "../../src/chain/log-watcher.store.ts";
import type { Database } from "../../src/db/database.ts";
import type { Bus } from "../../src/events/bus.ts";
import { hasUnpublished } from "../../src/events/outbox.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import type { StreamSink } from "../../src/inference/stream-terms.ts";
import { AppError } from "../../src/kernel/errors.ts";
import type { Hex } from "../../src/kernel/hex.ts";
import { newRequestId } from "../../src/kernel/ids.ts";
import { ApiKeyService } from "../../src/keys/api-key.service.ts";
import { seedAccount } from "../support/seed.ts";
import { auditEnd, auditLedger } from "./audit.ts";
import { Books, demand, Fault, type KeyBook, PRICE } from "./books.ts";
import { type RpcMood, SimChain } from "./chain.ts";
import { SimChat } from "./chat.ts";
import { SimClock } from "./clock.ts";
import { Gate, GatedDatabase, LineBroke, type SimProcess } from "./gate.ts";
import type { Plant } from "./plants.ts";
import { SimProviders } from "./provider.ts";
import { bootRouter, CONFIRMATIONS, depositsOn, HOLD_SECONDS, MODEL, type Router, VAULT } from "./router.ts";

/** How often something is tried in the end before it is judged as it is. */
const PATIENCE = 12;
const BEGIN = new Date("2031-03-01T20:00:00Z");

/** Everything that a run is made of: two routers on one database, a chain, providers, clients, and the model. */
export class World {
  readonly books = new Books();
  readonly gate = new Gate();
  readonly clock: SimClock;
  readonly chain: SimChain;
  readonly providers = new SimProviders();
  readonly accounts: Hex[] = [];
  routers: Router[] = [];
  rpcMood: RpcMood = "good";
  busFails = false;
  /** What one subscriber to everything has been told, doubles left out. */
  readonly told: DomainEvent[] = [];
  readonly #told = new Set<string>();
  readonly #database: Database;
  readonly #plant: Plant;
  readonly #apiKeys: ApiKeyService;
  #fault: Error | undefined;
  #newestPosition = 0n;
  #hasSwept = false;

  private constructor(database: Database, plant: Plant) {
    this.#database = database;
    this.#plant = plant;
    this.clock = new SimClock(database);
    this.#apiKeys = new ApiKeyService({ database, clock: this.clock, committed: () => {} });
    this.chain = new SimChain({ vault: VAULT, topic: depositsOn(database).topics[0] ?? "0x" });
  }

  /** A world with three accounts of little money and five keys, on an empty database. */
  static async create(database: Database, plant: Plant): Promise<World> {
    const world = new World(database, plant);
    await database.rows(EMPTY);
    world.clock.set(BEGIN);
    await world.clock.tell();
    for (const price of [60n, 25n, 0n]) await world.#open(price * PRICE.output);
    world.routers = [0, 1].map((id) => world.#boot(id));
    return world;
  }

  /** What was found wrong while nobody was looking. */
  check(): void {
    this.books.judge();
    if (this.#fault) throw this.#fault;
    for (const { request } of this.providers.exchanges) {
      const chat = this.books.chats.get(request);
      demand(!chat?.hasLeft, `the client of ${request} left, and its provider still works`);
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
      leave: () => leaving.abort(),
    });
    this.books.chats.set(chat.id, chat);
    const fields = { user: chat.id };
    const request = {
      model: MODEL,
      stream: given.stream,
      wantsUsage: false,
      maxTokens,
      choices: 1,
      promptTokens: given.prompt,
      wishes: {},
      bytes: Buffer.from(JSON.stringify(fields)),
      fields,
    };
    const caller = { account: key.account, keyId: key.id, requestId: chat.id };
    const asked = given.stream
      ? router.chat.stream(request, caller, this.#sink(chat, leaving.signal))
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

  scan(n: number): void {
    this.#begin(n, "scan", ({ scanner }) => scanner.step());
  }

  sweep(n: number): void {
    this.#begin(n, "sweep", ({ holds }) => holds.sweep());
  }

  publish(n: number): void {
    this.#begin(n, "publish", ({ relay }) => relay.publishBatch());
  }

  revoke(n: number): void {
    const key = [...this.books.keys.values()][n % this.books.keys.size];
    const [router] = this.routers;
    // Without a key there is nothing to simulate.
    if (!key || !router || [...this.books.keys.values()].filter(({ isRevoked }) => !isRevoked).length < 3)
      return;
    void this.gate
      .pass({ id: -1, alive: true }, "revoke", async () => {
        await this.#apiKeys.revoke(key.account, key.id);
        key.isRevoked = true;
      })
      .catch((error: unknown) => !isExpected(error) && this.#note(error));
  }

  /** kill -9: what it had sent may still be committed, and nobody hears of it. It starts again at once. */
  async crash(n: number, commits: number): Promise<void> {
    const router = this.routers[n % this.routers.length];
    if (!router) return;
    const { id } = router.process;
    router.process.alive = false;
    for (const chat of this.books.chats.values())
      if (chat.process === id && !chat.isAnswered) {
        chat.isDisturbed = true;
        chat.hasLeft = true;
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
  }

  /** Runs the `n`th of what waits for the database. `fate` is how: well, never, or without its answer. */
  async commit(n: number, fate: "well" | "lost" | "unheard" = "well"): Promise<void> {
    const entry = this.gate.waiting[n % this.gate.waiting.length];
    if (!entry) return;
    await this.clock.tell();
    if (fate === "lost") entry.lose();
    else if (fate === "unheard") await entry.commitUnheard();
    else await entry.commit();
    await quiet();
    if (fate === "unheard" || this.#hasSwept) await this.#reread(fate === "well");
    else if (entry.label === "transaction") await this.books.rereadAvailable(this.#database);
    this.check();
  }

  /** Reads what the product did not say: which holds a sweep released, or what was committed unheard. */
  async #reread(isSwept: boolean): Promise<void> {
    this.#hasSwept = false;
    const before = new Map(this.books.holds);
    await this.books.reread(this.#database);
    for (const [id, hold] of before) {
      if (this.books.holds.has(id)) continue;
      const isDue = hold.expiresAtMs < this.clock.monotonicMs();
      demand(isDue || !isSwept, `the hold of ${id} was swept before its time`);
      this.books.disturb(id);
    }
  }

  /** Lets everything end as it ends when nothing more goes wrong, and looks at the books as a whole. */
  async finish(): Promise<void> {
    this.rpcMood = "good";
    this.busFails = false;
    await this.drain();
    for (const exchange of [...this.providers.exchanges]) {
      this.books.chats.get(exchange.request)?.failed();
      this.providers.cut(exchange);
    }
    await this.drain();
    for (let n = 0; n <= CONFIRMATIONS; n++) this.chain.mine();
    for (let n = 0; n < PATIENCE && !(await this.#isRead()); n++) {
      this.scan(n);
      await this.drain();
    }
    this.clock.advance((HOLD_SECONDS + 60) * 1_000);
    for (const n of [0, 1]) {
      this.sweep(n);
      await this.drain();
    }
    for (let n = 0; n < PATIENCE && (await hasUnpublished(this.#database)); n++) {
      this.publish(n);
      await this.drain();
    }
    const { books, told } = this;
    await auditEnd(this.#database, { books, told, paidIn: this.chain.paidIn() });
  }

  async drain(): Promise<void> {
    await quiet();
    while (this.gate.waiting.length > 0) await this.commit(0);
    this.check();
  }

  /** The books of the database, which must be exact at any moment. */
  verify(): Promise<void> {
    return auditLedger(this.#database);
  }

  async #isRead(): Promise<boolean> {
    const cursor = await readCursor(this.#database, "deposits");
    return cursor?.number === BigInt(this.chain.height);
  }

  #boot(id: number): Router {
    const process = { id, alive: true };
    return bootRouter({
      process,
      database: new GatedDatabase(this.#database, this.gate, process, this.#plant.rewrite),
      clock: this.clock,
      rpc: this.chain.rpc(() => this.rpcMood),
      client: this.providers.client(process),
      bus: this.#bus(),
      plant: this.#plant,
      watch: (holds) => this.#watched(holds, process),
    });
  }

  /** The holds with the model beside them: it hears what the product is told, at that moment. */
  #watched(holds: HoldsService, process: SimProcess): HoldsService {
    const nowMs = () => this.clock.monotonicMs();
    const noting = (work: () => void) => {
      try {
        if (process.alive) work();
      } catch (error) {
        this.#note(error);
      }
    };
    const watched: Pick<HoldsService, "hold" | "settle" | "sweep"> = {
      hold: async (request) => {
        try {
          const granted = await holds.hold(request);
          noting(() => this.books.granted(request, granted, nowMs()));
          return granted;
        } catch (error) {
          noting(() => this.books.refused(request, error, nowMs()));
          throw error;
        }
      },
      settle: async (settlement) => {
        try {
          const charged = await holds.settle(settlement);
          noting(() => this.books.settled(settlement, charged, nowMs()));
          return charged;
        } catch (error) {
          noting(() => this.books.settleFailed(settlement, error));
          throw error;
        }
      },
      sweep: async () => {
        const swept = await holds.sweep();
        this.#hasSwept ||= swept > 0;
        return swept;
      },
    };
    return watched as HoldsService;
  }

  #sink(chat: SimChat, leaving: AbortSignal): StreamSink {
    let text = "";
    return {
      start() {},
      write(bytes) {
        text += bytes.toString();
        if (text.endsWith("data: [DONE]\n\n")) readBill(chat, text);
        return true;
      },
      end() {},
      isClosed: () => leaving.aborted,
      onDrain() {},
      onClose: (listener) => leaving.addEventListener("abort", listener, { once: true }),
    };
  }

  #bus(): Bus {
    return {
      publish: async (events) => {
        for (const event of events) {
          if (event.position <= this.#newestPosition) continue;
          this.#newestPosition = event.position;
          if (this.#told.has(event.id)) continue;
          this.#told.add(event.id);
          this.told.push(event);
        }
        if (this.busFails) throw new LineBroke("the bus took the events and did not answer");
      },
      newestPosition: async () => this.#newestPosition,
      subscribe: () => Promise.reject(new Error("nobody subscribes")),
      close: async () => {},
    };
  }

  async #open(neuron: bigint): Promise<void> {
    const { account, keyId } = await seedAccount(this.#database, 0n);
    this.accounts.push(account as Hex);
    this.#know({ id: keyId, account, limit: undefined, period: "never" });
    if (neuron === 0n) return;
    this.chain.pay(account as Hex, neuron);
    const limit = 30n * PRICE.output;
    const period = this.accounts.length === 1 ? "daily" : "never";
    const { key } = await this.#apiKeys.create(account, "limited", {
      creditLimit: limit,
      resetPeriod: period,
    });
    this.#know({ id: key.id, account, limit, period });
  }

  #know(key: Pick<KeyBook, "id" | "account" | "limit" | "period">): void {
    this.books.keys.set(key.id, { ...key, isRevoked: false, held: 0n, spent: 0n, spentAtMs: 0 });
  }

  /** Begins some work of a router's that it does one at a time. */
  #begin(n: number, what: string, work: (router: Router) => Promise<unknown>): void {
    const router = this.routers[n % this.routers.length];
    if (!router || router.busy.has(what)) return;
    router.busy.add(what);
    work(router)
      .catch((error: unknown) => !isExpected(error) && this.#note(error))
      .finally(() => router.busy.delete(what));
  }

  #note(error: unknown): void {
    this.#fault ??= error instanceof Error ? error : new Error(String(error));
  }
}

/** Lets every promise that can go on go on. */
export function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const EXPECTED = new Set([
  "insufficient_balance",
  "credit_limit_exceeded",
  "api_key_revoked",
  "provider_error",
  "chain_error",
]);

function isExpected(error: unknown): boolean {
  return error instanceof LineBroke || (error instanceof AppError && EXPECTED.has(error.code));
}

function readBill(chat: SimChat, text: string): void {
  const [, bill] = /"total_cost":"(\d+)"/.exec(text) ?? [];
  if (bill === undefined) throw new Fault(`the answer to ${chat.id} has no bill`);
  chat.bill = BigInt(bill);
}

const EMPTY = `
  truncate account, api_key, inference_request, hold, ledger_entry, deposit, outbox, outbox_forgotten,
    watcher_cursor, watcher_block restart identity cascade`;
