import { within } from "../kernel/async/within.ts";
import { AppError } from "../kernel/errors.ts";
import type { RedisAddress } from "./redis-address.ts";
import { dropRedis, isReplicaRefusal, openRedis, type RedisConnection } from "./redis-connection.ts";

const COMMAND_MS = 2_000;

type Dependencies = {
  readonly address: RedisAddress;
  readonly onError: (error: unknown) => void;
  /** Called when the server refused a write because it is a replica, once per connection. */
  readonly onReplica: () => void;
};

/**
 * The connection for the commands of a bus, which fail within 2 s while Redis is down. A connection that does not answer
 * in time, or that leads to a replica, is replaced by a new one.
 */
export class RedisCommands {
  readonly #dependencies: Dependencies;
  #connection: RedisConnection;
  #isClosed = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#connection = openRedis(dependencies.address, dependencies.onError);
  }

  /** Opens the connection. Resolves with it once it is open, however long that takes. */
  async connect(): Promise<RedisConnection> {
    await this.#connection.connect();
    return this.#connection;
  }

  /** Runs commands. Throws `unavailable` while Redis is down, or if it does not answer in time. */
  async run<T>(work: (redis: RedisConnection) => Promise<T>): Promise<T> {
    const redis = this.#connection;
    if (!redis.isReady) throw new AppError("unavailable", "Events are unavailable. Try again later.");
    const onLate = () => {
      if (this.#replace(redis)) dropRedis(redis);
    };
    const message = `Events are unavailable: no answer within ${COMMAND_MS / 1_000} s.`;
    try {
      return await within(COMMAND_MS, work(redis), { message, onLate });
    } catch (error) {
      if (isReplicaRefusal(error)) this.#leaveReplica(redis);
      throw error;
    }
  }

  /** Closes the connection at once; pending commands fail. */
  close(): void {
    this.#isClosed = true;
    dropRedis(this.#connection);
  }

  /** The commands that a replica still answers, such as reads, get their time. */
  #leaveReplica(redis: RedisConnection): void {
    if (!redis.reopen || !this.#replace(redis)) return;
    setTimeout(() => dropRedis(redis), COMMAND_MS).unref();
    this.#dependencies.onReplica();
  }

  /** Whether `redis` was the present connection, which is another one then. */
  #replace(redis: RedisConnection): boolean {
    if (this.#connection !== redis || this.#isClosed) return false;
    const { address, onError } = this.#dependencies;
    this.#connection = openRedis(address, onError);
    this.#connection.connect().catch(onError);
    return true;
  }
}
