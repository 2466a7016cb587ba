import pg, { type Pool } from "pg";
import { AppError } from "../kernel/errors.ts";
import type { ServerAddress } from "./server-address.ts";

const LOOK_MS = 250;
/** So long no statement may end, while some are under way, before the server is asked whether it is there ... */
const QUIET_MS = 800;
/** ... and so long it may take to say so, from the dialling on. */
const PING_MS = 2_000;

/**
 * Notices a server that hangs: connections stay open and nothing is answered, so that statements would wait for ever
 * and hold their connections (promises F46). Whenever statements are under way and none ends, the server is asked over
 * a connection of its own, which tells a slow statement from a server that is gone. When it does not answer, all
 * connections are cut, which fails what waits on them, and nobody is let wait until it answers again.
 *
 * A server that takes no writes is asked in the same way until it does: its old connections may stay read-only, or lead
 * to a server that is no primary any more, so all of them are then replaced.
 */
export class ServerWatch {
  readonly #pool: Pool;
  readonly #address: ServerAddress;
  readonly #timer: NodeJS.Timeout;
  #progressAtMs = performance.now();
  #isAway = false;
  #isReadOnly = false;
  #looking: Promise<void> | undefined;

  /** Watches the server at `address`, to which the connections of `pool` lead. */
  constructor(pool: Pool, address: ServerAddress) {
    this.#pool = pool;
    this.#address = address;
    pool.on("release", this.#noteProgress);
    // Not when they are made: some were before anybody watched.
    const known = new WeakSet<object>();
    pool.on("acquire", (client) => {
      if (known.has(client)) return;
      known.add(client);
      client.once("end", () => takeOut(pool as Internals, client));
    });
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Throws `unavailable` at once while the server is known to be away. */
  requireServer(): void {
    if (this.#isAway) throw unavailable();
  }

  /** Notes a write that the server refused as read-only: from now on it is asked whether it takes writes again. */
  noteFailure(error: unknown): void {
    if (!isReadOnlyFailure(error) || this.#isReadOnly) return;
    this.#isReadOnly = true;
    this.#look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#pool.off("release", this.#noteProgress);
    await this.#looking;
  }

  readonly #noteProgress = (error?: unknown): void => {
    if (!error) this.#progressAtMs = performance.now();
  };

  #look(): void {
    if (this.#looking) return;
    const { totalCount, idleCount, waitingCount } = this.#pool;
    const isBusy = totalCount - idleCount + waitingCount > 0;
    if (
      !this.#isAway &&
      !this.#isReadOnly &&
      (!isBusy || performance.now() - this.#progressAtMs < QUIET_MS)
    ) {
      if (!isBusy) this.#progressAtMs = performance.now();
      return;
    }
    this.#looking = this.#judge().finally(() => {
      this.#looking = undefined;
    });
  }

  async #judge(): Promise<void> {
    const state = await stateOf(this.#address);
    this.#isAway = state === "away";
    if (this.#isAway) cutConnections(this.#pool);
    else this.#progressAtMs = performance.now();
    if (state !== "writable" || !this.#isReadOnly) return;
    this.#isReadOnly = false;
    replaceConnections(this.#pool as Internals);
  }
}

/**
 * How a server is, by a connection of its own. One that refuses answers as well, because it starts, ends, or has too
 * many connections.
 */
async function stateOf(address: ServerAddress): Promise<"away" | "refusing" | "read-only" | "writable"> {
  const limits = { connectionTimeoutMillis: PING_MS, query_timeout: PING_MS };
  const client = new pg.Client({ ...address, ...limits });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query("select current_setting('transaction_read_only') as setting");
    return rows[0]?.setting === "on" ? "read-only" : "writable";
  } catch (error) {
    return typeof error === "object" && error !== null && "severity" in error ? "refusing" : "away";
  } finally {
    // One that hangs would never say goodbye.
    (client as unknown as Wire).connection.stream.destroy();
  }
}

type Wire = { readonly connection: { readonly stream: { destroy(): void } } };

/** What a pool knows of its clients; pg-pool tells it in no other way. */
type Internals = Pool & {
  readonly _clients: readonly unknown[];
  /** Connections that are not used again once they are released. */
  readonly _expired: WeakSet<object>;
  readonly _idle: readonly { readonly client: object }[];
  _remove(client: unknown, done: () => void): void;
  _pulseQueue(): void;
};

/** A client that waits for an answer cannot be told to give up. */
function cutConnections(pool: Pool): void {
  const { _clients } = pool as Internals;
  for (const { connection } of [..._clients] as Wire[]) connection.stream.destroy();
}

/** Lets go of each connection, one in use when it is released; new ones take their places. */
function replaceConnections(pool: Internals): void {
  for (const client of pool._clients as readonly object[]) pool._expired.add(client);
  for (const { client } of [...pool._idle]) pool._remove(client, () => pool._pulseQueue());
}

/**
 * A transaction whose connection is lost cannot roll back, and whoever began it then never gives the connection
 * back: its place would stay taken, and the pool would wait for it for ever when it is closed.
 */
function takeOut(pool: Internals, client: unknown): void {
  if (pool._clients.includes(client)) pool._remove(client, () => pool._pulseQueue());
}

/**
 * A failure of the way to the server, or of the server itself, which also may be read-only, as what callers are told; all
 * else as it is.
 */
export function outageOf(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AppError) return error;
    const code = "code" in cause ? String(cause.code) : "";
    if (code === READ_ONLY) return readOnly(error);
    if (LOST.test(code) || GONE.test(cause.message)) return unavailable(error);
  }
  return error;
}

/** Of sockets; of SQL: connection lost, shutting down or starting, too many connections, disk or memory full. */
const LOST = /^(?:ECONN\w*|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|08\w{3}|57P0[1-5]|53\w{3})$/;
const GONE =
  /^(?:Connection terminated|timeout (?:exceeded )?when trying to connect|Client has encountered a connection error)/;

const READ_ONLY = "25006";

function isReadOnlyFailure(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && String(cause.code) === READ_ONLY) return true;
  return false;
}

function readOnly(cause: unknown): AppError {
  return new AppError("unavailable", "The database takes no writes now. Try again later.", { cause });
}

function unavailable(cause?: unknown): AppError {
  return new AppError("unavailable", "The database is not reachable now. Try again later.", {
    ...(cause !== undefined && { cause }),
  });
}
