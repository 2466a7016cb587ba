import type { Pool } from "pg";
import { AppError } from "../../kernel/errors.ts";
import { isConnectFailure } from "./connect-failures.ts";
import { newClient, type ServerAddress } from "./server-address.ts";
import { READ_ONLY } from "./server-hosts.ts";

const CHECK_MS = 250;
/** If no statement ends for this long while some are in progress, the server is probed ... */
const QUIET_MS = 800;
/** ... and must respond within this time, including the connection, unless another is given. */
const PING_MS = 2_000;

/**
 * Detects a hanging server: connections stay open without responses, so that statements would wait forever and occupy
 * their connections (promises F46). If statements are in progress and none ends, the server is probed over a separate
 * connection, which distinguishes a slow statement from an unresponsive server. If it does not respond, all connections
 * are cut, which fails their statements, and new statements fail at once until it responds again.
 *
 * A read-only server is probed in the same way until it accepts writes: its old connections may stay read-only, or lead
 * to a server that is no longer the primary, so all of them are then replaced.
 *
 * Of several hosts only the primary is used: while there is none, the server counts as unresponsive, and connections to
 * another host than the present primary are cut.
 */
export class ServerWatch {
  readonly #pool: Pool;
  readonly #address: ServerAddress;
  readonly #pingMs: number;
  readonly #timer: NodeJS.Timeout;
  #progressAtMs = performance.now();
  #isAway = false;
  #hasNoPrimary = false;
  #isReadOnly = false;
  #checking: Promise<void> | undefined;

  /** Watches the server at `address`, to which `pool` connects. A probe has `pingMs` to be answered. */
  constructor(pool: Pool, address: ServerAddress, pingMs = PING_MS) {
    this.#pingMs = pingMs;
    this.#pool = pool;
    this.#address = address;
    pool.on("release", this.#noteProgress);
    // Not on "connect": some connections were opened before the watch started.
    const known = new WeakSet<object>();
    pool.on("acquire", (client) => {
      if (known.has(client)) return;
      known.add(client);
      client.once("end", () => removeClient(pool as Internals, client));
    });
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Throws `unavailable` at once while the server is known to be unresponsive. */
  requireServer(): void {
    if (this.#hasNoPrimary) throw readOnly();
    if (this.#isAway) throw unavailable();
  }

  /** Whether there are several hosts, and no responding one accepts writes. */
  get hasNoPrimary(): boolean {
    return this.#hasNoPrimary;
  }

  /** Records a write that the server rejected as read-only: from now on it is probed until it accepts writes. */
  noteFailure(error: unknown): void {
    if (!isReadOnlyFailure(error) || this.#isReadOnly) return;
    this.#isReadOnly = true;
    this.#check();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#pool.off("release", this.#noteProgress);
    await this.#checking;
  }

  readonly #noteProgress = (error?: unknown): void => {
    if (!error) this.#progressAtMs = performance.now();
  };

  #check(): void {
    if (this.#checking) return;
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
    this.#checking = this.#probe().finally(() => {
      this.#checking = undefined;
    });
  }

  async #probe(): Promise<void> {
    const { state, server } = await stateOf(this.#address, this.#pingMs);
    this.#hasNoPrimary = state === "read-only" && this.#address.hosts?.mustBePrimary === true;
    this.#isAway = state === "away" || this.#hasNoPrimary;
    if (this.#isAway) cutConnections(this.#pool);
    else this.#progressAtMs = performance.now();
    if (state === "writable") cutConnections(this.#pool, (other) => nameOf(other) !== nameOf(server));
    if (state !== "writable" || !this.#isReadOnly) return;
    this.#isReadOnly = false;
    replaceConnections(this.#pool as Internals);
  }
}

/**
 * Probes the state of a server over a separate connection. A server that refuses the connection is responsive too: it
 * is starting, stopping, or has too many connections.
 */
async function stateOf(
  address: ServerAddress,
  pingMs: number,
): Promise<{ state: "away" | "refusing" | "read-only" | "writable"; server: Wire }> {
  const client = newClient(address, { connectionTimeoutMillis: pingMs, query_timeout: pingMs });
  const server = client as unknown as Wire;
  try {
    await client.connect();
    const { rows } = await client.query("select current_setting('transaction_read_only') as setting");
    return { state: rows[0]?.setting === "on" ? "read-only" : "writable", server };
  } catch (error) {
    if (isReadOnlyFailure(error)) return { state: "read-only", server };
    const isRefused = typeof error === "object" && error !== null && "severity" in error;
    return { state: isRefused ? "refusing" : "away", server };
  } finally {
    // A hanging server would never complete a graceful close.
    server.connection.stream.destroy();
  }
}

/** Internals of a connection, which pg's types do not declare: the server to which it leads, and its socket. */
type Wire = {
  readonly host: string;
  readonly port: number;
  readonly connection: { readonly stream: { destroy(): void } };
};

/** Internals of a pool, which pg-pool does not expose otherwise. */
type Internals = Pool & {
  readonly _clients: readonly unknown[];
  /** Connections that are closed when they are released. */
  readonly _expired: WeakSet<object>;
  readonly _idle: readonly { readonly client: object }[];
  _remove(client: unknown, done: () => void): void;
  _pulseQueue(): void;
};

/** Destroys the sockets: a client that waits for a response cannot be cancelled. */
function cutConnections(pool: Pool, isCut: (client: Wire) => boolean = () => true): void {
  const clients = [...(pool as Internals)._clients] as Wire[];
  for (const client of clients.filter(isCut)) client.connection.stream.destroy();
}

function nameOf({ host, port }: Wire): string {
  return `${host}:${port}`;
}

/** Closes each connection, active ones when they are released; new ones replace them. */
function replaceConnections(pool: Internals): void {
  for (const client of pool._clients as readonly object[]) pool._expired.add(client);
  for (const { client } of [...pool._idle]) pool._remove(client, () => pool._pulseQueue());
}

/**
 * A transaction whose connection is lost cannot roll back, and its owner never releases the connection: its slot would
 * stay occupied, and closing the pool would wait for it forever.
 */
function removeClient(pool: Internals, client: unknown): void {
  if (pool._clients.includes(client)) pool._remove(client, () => pool._pulseQueue());
}

const DISK_FULL = "53100";

/**
 * Maps a failure of the connection, of an attempt to connect or of the server, which may also be read-only, to
 * `unavailable`; other errors are returned unchanged.
 */
export function outageOf(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AppError) return error;
    const code = "code" in cause ? String(cause.code) : "";
    if (code === READ_ONLY) return readOnly(error);
    if (code === DISK_FULL) return diskFull(error);
    if (LOST.test(code) || GONE.test(cause.message) || isConnectFailure(cause)) return unavailable(error);
  }
  return error;
}

/**
 * Socket errors, and SQL states: connection lost, shutting down or starting, too many connections, memory full.
 */
const LOST = /^(?:ECONN\w*|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|08\w{3}|57P0[1-5]|53\w{3})$/;
const GONE =
  /^(?:Connection terminated|timeout (?:exceeded )?when trying to connect|timeout expired|Client has encountered a connection error)/;

/** Whether a statement or a connection failed because the server does not accept writes. */
export function isReadOnlyFailure(error: unknown): boolean {
  return hasState(error, READ_ONLY);
}

/** Whether a statement failed because the database's disk is full. */
export function isDiskFullFailure(error: unknown): boolean {
  return hasState(error, DISK_FULL);
}

function hasState(error: unknown, state: string): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && String(cause.code) === state) return true;
  return false;
}

function readOnly(cause?: unknown): AppError {
  return new AppError("unavailable", "The database is read-only. Try again later.", {
    ...(cause !== undefined && { cause }),
  });
}

function diskFull(cause: unknown): AppError {
  return new AppError("unavailable", "The database has no space left. Try again later.", { cause });
}

function unavailable(cause?: unknown): AppError {
  return new AppError("unavailable", "The database is unreachable. Try again later.", {
    ...(cause !== undefined && { cause }),
  });
}
