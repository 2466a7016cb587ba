import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionTimeoutError, ErrorReply } from "redis";
import { within } from "../kernel/async/within.ts";
import { AppError, StartupError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import type { Bus, EventFilter, EventStream } from "./bus.ts";
import { PositionTakenError } from "./position-taken.ts";
import { Readers } from "./readers.ts";
import { nameOfRedis, parseRedisUrl, type RedisAddress } from "./redis-address.ts";
import { RedisCommands } from "./redis-commands.ts";
import { dropRedis, openRedis, type RedisConnection } from "./redis-connection.ts";
import { decodeEntry, encodeEntry, entryId, positionOf } from "./redis-entry.ts";
import { FELL_BEHIND, REPLAY_PAGE, ReplayedStream, type ReplayPage } from "./replayed-stream.ts";
import { type DomainEvent, TOPICS, type Topic } from "./topics.ts";

const KEPT = 100_000;
/**
 * A key that names the run of the Redis server that has all events. It is gone when Redis loses its data, and differs
 * after a failover or restart, in which the newest events may be lost. No topic has this name.
 */
const KEPT_MARK = "kept";
/** Scripts run on the server that has their keys, also in a cluster. */
const RUN = `local run = string.match(redis.call('info', 'server'), 'run_id:(%x+)')`;
const LOOK = `${RUN} return {run, redis.call('get', KEYS[1])}`;
/**
 * Adds events, each with a key, an id and its text, unless the server is another than expected: the events before them
 * may be missing there. An event that is not newer than the last one was already published, which is no failure if it
 * has this place in the stream; otherwise the script ends with the number of the event. Events are the same if their
 * texts begin with the same id; a text of another form, such as of another version, is not told apart.
 */
const PUBLISH = `${RUN}
  local function id(text) return string.match(text, '^{"id":"([^"]*)"') end
  if ARGV[1] ~= '' and ARGV[1] ~= run then return redis.error_reply('the Redis server was replaced or restarted') end
  for at, key in ipairs(KEYS) do
    local entry, text = ARGV[2 * at + 2], ARGV[2 * at + 3]
    local added = redis.pcall('xadd', key, 'MAXLEN', '~', ARGV[2], entry, 'event', text)
    if type(added) == 'table' and added.err then
      if not string.find(added.err, 'equal or smaller') then return added end
      if ARGV[3] == 'new' then
        local known = redis.call('xrange', key, entry, entry)[1]
        if not known then return at end
        local other = id(known[2][2])
        if other and other ~= id(text) then return at end
      end
    end
  end
  return 0`;
const PREFIX = "zerograph:events:";
/** All keys of a transaction must be on one node. */
const CLUSTER_PREFIX = "{zerograph:events}:";
/** How long a server may refuse connections while the process starts, and how long it may take to answer. */
const REFUSED_MS = 5_000;
const START_MS = 15_000;
const BLOCK_MS = 5_000;
const READ_COUNT = 500;

/** `prefix` goes before the topic in every key, so that several products can share one Redis. */
type RedisBusOptions = { readonly prefix?: string; readonly log?: Logger };

/**
 * The bus between processes: one Redis Stream per topic, whose entry ids are `<position>-0`, so that Redis itself
 * rejects events that were already published. One blocking reader per process follows all topics from the last ids it
 * has seen, across outages; commands use a second connection and fail within 2 s while Redis is down. Each topic
 * retains about 100,000 events.
 */
export class RedisBus implements Bus {
  readonly #prefix: string;
  readonly #log: Logger | undefined;
  readonly #readers = new Readers();
  readonly #seen = new Map<Topic, string>();
  readonly #closing = new AbortController();
  readonly #reader: RedisConnection;
  readonly #commands: RedisCommands;
  #following: Promise<void> = Promise.resolve();
  /** The server's run at the last look at the mark; empty after a failure. */
  #run = "";
  #lastError: unknown;
  #away = false;
  /** What the server answered to the last attempt to read, if it refused. */
  #refusal: string | undefined;

  private constructor(address: RedisAddress, { prefix, log }: RedisBusOptions) {
    this.#prefix = prefix ?? (address.kind === "cluster" ? CLUSTER_PREFIX : PREFIX);
    this.#log = log;
    this.#commands = new RedisCommands({
      address,
      onError: this.#onError,
      onReplica: () => this.#reader.reopen?.(),
    });
    this.#reader = openRedis(address, this.#onError, BLOCK_MS * 2).on("ready", () => this.#onReady());
  }

  /**
   * Connects. Throws a one-line error that names the address if Redis refuses connections for 5 s or does not answer
   * within 15 s: on a busy machine an answer takes that long.
   */
  static async create(to: string | RedisAddress, options: RedisBusOptions = {}): Promise<RedisBus> {
    const address = typeof to === "string" ? parseRedisUrl(to) : to;
    const bus = new RedisBus(address, options);
    try {
      const opening = bus.#open();
      await within(REFUSED_MS, opening).catch((error) => {
        if (isRefusal(bus.#lastError)) throw error;
        return within(START_MS - REFUSED_MS, opening);
      });
    } catch (error) {
      const why = bus.#lastError ?? error;
      await bus.close();
      throw new StartupError(`REDIS_URL: ${nameOfRedis(address)} is unreachable (${textOf(why)})`, {
        cause: why,
      });
    }
    bus.#following = bus.#follow();
    return bus;
  }

  async #open(): Promise<void> {
    const [redis] = await Promise.all([this.#commands.connect(), this.#reader.connect()]);
    for (const topic of TOPICS) this.#seen.set(topic, entryId(await this.#readNewest(redis, topic)));
  }

  /** How many live readers are attached. */
  get readers(): number {
    return this.#readers.size;
  }

  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  publish(events: readonly DomainEvent[]): Promise<void> {
    return this.#add(events, "new");
  }

  restore(events: readonly DomainEvent[]): Promise<void> {
    return this.#add(events, "past");
  }

  async #add(events: readonly DomainEvent[], kind: "new" | "past"): Promise<void> {
    if (events.length === 0) return;
    const keys = events.map(({ topic }) => this.#key(topic));
    const entries = events.flatMap((event) => [entryId(event.position), encodeEntry(event).event]);
    const run = this.#run;
    this.#run = "";
    const args = [run, `${KEPT}`, kind, ...entries];
    const at = Number(await this.#commands.run((redis) => redis.eval(PUBLISH, { keys, arguments: args })));
    this.#run = run;
    const taken = events[at - 1];
    if (taken) throw new PositionTakenError(taken);
  }

  async subscribe<T extends Topic>(filter: EventFilter<T>, after?: bigint): Promise<EventStream<T>> {
    if (after === undefined) return this.#readers.attach(filter) as EventStream<T>;
    const past = {
      page: (last: bigint) =>
        this.#page(filter, last, last > after).catch((error) => {
          if (!this.#closing.signal.aborted) throw error;
          // The bus is closed: end the replay, so that the reader moves on to the live stream, which has ended.
          return { events: [], upTo: last, full: false };
        }),
      live: async () => this.#readers.attach(filter),
    };
    return new ReplayedStream(past, after) as EventStream<T>;
  }

  /** Always false: Redis may have lost its data, or the relay may be restoring it at this moment. */
  coversSince(): boolean {
    return false;
  }

  async isSeeded(): Promise<boolean> {
    const keys = [this.#prefix + KEPT_MARK];
    const [run, marked] = (await this.#commands.run((redis) => redis.eval(LOOK, { keys }))) as [
      string,
      string | null,
    ];
    this.#run = run;
    return marked === run;
  }

  async markSeeded(): Promise<void> {
    if (this.#run === "") await this.isSeeded();
    await this.#commands.run((redis) => redis.set(this.#prefix + KEPT_MARK, this.#run));
  }

  async newestPosition(): Promise<bigint> {
    const newest = await Promise.all(
      TOPICS.map((topic) => this.#commands.run((redis) => this.#readNewest(redis, topic))),
    );
    return newest.reduce((greatest, position) => (position > greatest ? position : greatest), 0n);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#readers.end();
    this.#commands.close();
    dropRedis(this.#reader);
    await this.#following;
  }

  async #follow(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await this.#read();
      } catch (error) {
        if (error instanceof ErrorReply) this.#onRefused(error);
        // The connection reconnects by itself; the pause only keeps the loop from spinning until then.
        await sleep(50, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  async #read(): Promise<void> {
    const from = [...this.#seen].map(([topic, id]) => ({ key: this.#key(topic), id }));
    const streams = await this.#reader.xRead(from, { BLOCK: BLOCK_MS, COUNT: READ_COUNT });
    this.#onReady();
    this.#refusal = undefined;
    for (const { name, messages } of streams ?? []) {
      const topic = name.slice(this.#prefix.length) as Topic;
      for (const { id, message } of messages) {
        this.#seen.set(topic, id);
        await this.#readers.dispatch(decodeEntry(topic, id, message));
      }
    }
  }

  async #page(filter: EventFilter, after: bigint, continued: boolean): Promise<ReplayPage> {
    const key = this.#key(filter.topic);
    const [entries, oldest] = await this.#commands.run((redis) =>
      Promise.all([
        redis.xRange(key, `(${entryId(after)}`, "+", { COUNT: REPLAY_PAGE }),
        redis.xRange(key, "-", "+", { COUNT: 1 }),
      ]),
    );
    if (continued && oldest?.[0] && positionOf(oldest[0].id) > after)
      throw new AppError("unavailable", FELL_BEHIND);
    const events = (entries ?? []).map(({ id, message }) => decodeEntry(filter.topic, id, message));
    return {
      events: events.filter(({ subject }) => filter.subject === undefined || subject === filter.subject),
      upTo: events.at(-1)?.position ?? after,
      full: events.length === REPLAY_PAGE,
    };
  }

  async #readNewest(redis: RedisConnection, topic: Topic): Promise<bigint> {
    const newest = await redis.xRevRange(this.#key(topic), "+", "-", { COUNT: 1 });
    return newest?.[0] ? positionOf(newest[0].id) : 0n;
  }

  #key(topic: Topic): string {
    return this.#prefix + topic;
  }

  readonly #onError = (error: unknown): void => {
    this.#lastError = error;
    if (!this.#away) this.#log?.warn({ err: error }, "Redis is unreachable; events wait in the outbox");
    this.#away = true;
  };

  /** As by a Redis user without the permission: logged once for each answer. */
  #onRefused({ message }: Error): void {
    if (message !== this.#refusal)
      this.#log?.error(
        { why: message },
        "Redis refuses to be read; subscribers receive no events until it is",
      );
    this.#refusal = message;
  }

  #onReady(): void {
    if (this.#away) this.#log?.info("Redis is reachable again");
    this.#away = false;
  }
}

/** Whether a server, or its certificate, refused a connection; not if it only was slow. */
function isRefusal(error: unknown): boolean {
  return error !== undefined && !(error instanceof ConnectionTimeoutError);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
