import pg, { type Client, type ClientConfig } from "pg";
import type { ServerTarget } from "./server-url.ts";
import { SessionClient } from "./session-client.ts";

/** One server, and how its certificate is verified. */
export type ServerHost = Required<Pick<ClientConfig, "host" | "port">> & Pick<ClientConfig, "ssl">;

type ServerState = {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** Of the write-ahead log, which each promotion increments; 0 for a standby. */
  readonly timeline: number;
  readonly startedAt: string;
};

/** SQL state of a statement that a read-only server refuses. */
export const READ_ONLY = "25006";

const STATE = `select pg_is_in_recovery() as "isStandby", pg_postmaster_start_time()::text as "startedAt",
  current_setting('transaction_read_only') = 'on' as "isReadOnly",
  case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_insert_lsn()) end as "walFile"`;
/** Characters of a WAL file's name that are its timeline, in hexadecimal. */
const TIMELINE_CHARACTERS = 8;
/** The time for one host if the address has none, milliseconds. */
const DEFAULT_CONNECT_MS = 10_000;

/**
 * Several servers of one cluster, of which connections lead to one that is the `target`. A former primary that accepts
 * writes again is not used: its timeline is older than the latest that was seen.
 */
export class ServerHosts {
  readonly all: readonly ServerHost[];
  readonly target: ServerTarget;
  /** A `pg` client that connects to the first suitable host. */
  readonly Client: typeof Client;
  #order: readonly ServerHost[];
  #timeline = 0;
  /** The primary that is known to be the latest, as long as it is not restarted. */
  #primary = "";
  #surveying: Promise<unknown> | undefined;

  constructor(hosts: readonly ServerHost[], target: ServerTarget) {
    this.all = hosts;
    this.target = target;
    this.#order = hosts;
    this.Client = clientFor(this);
  }

  /** Whether a host that responds is only used if it accepts writes. */
  get mustBePrimary(): boolean {
    return this.target === "primary" || this.target === "read-write";
  }

  /** All hosts as listed, after the last one that was suitable: a host that hangs does not delay every connection. */
  get inOrder(): readonly ServerHost[] {
    return this.#order;
  }

  /** Notes that a connection to `host` was opened. */
  prefer(host: ServerHost): void {
    if (this.#order[0] !== host) this.#order = [host, ...this.all.filter((other) => other !== host)];
  }

  /**
   * Throws unless the server to which `client` is connected is the target. A primary that was started meanwhile may have
   * been replaced before: the other hosts are queried first, with the options of the connection.
   */
  async requireTarget(client: Queryable, config: ClientConfig, timeoutMs: number): Promise<void> {
    if (this.target === "any") return;
    const { isStandby, isReadOnly, timeline, startedAt } = await stateOf(client, timeoutMs);
    if (this.target === "standby" && !isStandby) throw new WrongServerError("not a standby");
    if (this.target === "standby") return;
    if (isStandby) throw new WrongServerError("a standby");
    if (isReadOnly && this.target === "read-write") throw new WrongServerError("read-only");
    const primary = `${client.host}:${client.port} ${startedAt}`;
    if (primary !== this.#primary) await this.#survey(config, timeoutMs / 2);
    if (timeline < this.#timeline)
      throw new WrongServerError(`a former primary (timeline ${timeline}, not ${this.#timeline})`);
    this.#timeline = timeline;
    this.#primary = primary;
  }

  /** Learns the latest timeline from all hosts at once. Hosts that do not respond in time are skipped. */
  #survey(config: ClientConfig, timeoutMs: number): Promise<unknown> {
    const looks = () =>
      this.all.map(async (host) => {
        const client = new pg.Client({ ...config, ...host, connectionTimeoutMillis: timeoutMs });
        client.on("error", () => {});
        await client.connect();
        const { timeline } = await stateOf(client, timeoutMs).finally(() => client.end());
        this.#timeline = Math.max(this.#timeline, timeline);
      });
    this.#surveying ??= Promise.allSettled(looks()).finally(() => {
      this.#surveying = undefined;
    });
    return this.#surveying;
  }
}

type Queryable = Pick<Client, "query" | "host" | "port">;

/** A server that responds but must not be used, for which it counts as read-only. */
class WrongServerError extends Error {
  override readonly name = "WrongServerError";
  readonly code = READ_ONLY;
}

async function stateOf(client: Queryable, timeoutMs: number): Promise<ServerState> {
  type Row = Omit<ServerState, "timeline"> & { readonly walFile: string | null };
  const query = { text: STATE, query_timeout: Math.max(1, Math.ceil(timeoutMs)) };
  const [row] = (await client.query<Row>(query)).rows;
  if (!row) throw new Error("the server has no state");
  return { ...row, timeline: Number.parseInt(row.walFile?.slice(0, TIMELINE_CHARACTERS) ?? "0", 16) };
}

/** Internals of a `pg` client, which its types do not declare: it is made for one host and one attempt to connect. */
type Internals = {
  host: string;
  port: number;
  ssl: unknown;
  connection: Connection;
  _connectionTimeoutMillis: number;
  _connecting: boolean;
  _connected: boolean;
  _connectionError: boolean;
  _queryable: boolean;
  _ending: boolean;
  _ended: boolean;
};
type Connection = NodeJS.EventEmitter & { readonly stream: { destroy(): void } };

type OnConnected = ((error: Error) => void) | ((error: null, client: Client) => void);

function clientFor(hosts: ServerHosts): typeof Client {
  return class extends SessionClient {
    readonly #config: ClientConfig;
    readonly #hosts = hosts.inOrder;
    readonly #connectMs: number;

    constructor(config: ClientConfig = {}) {
      super({ ...config, ...hosts.inOrder[0] });
      this.#config = config;
      this.#connectMs = config.connectionTimeoutMillis || DEFAULT_CONNECT_MS * hosts.all.length;
    }

    override connect(): Promise<Client>;
    override connect(callback: OnConnected): void;
    override connect(callback?: OnConnected): Promise<Client> | undefined {
      const connected = this.#connectToAny().then(() => this as Client);
      if (!callback) return connected;
      const settle = callback as (error: unknown, client?: Client) => void;
      connected.then((client) => settle(null, client), settle);
      return undefined;
    }

    /** Each host has an equal share of the time that is left. Throws the failure that says most. */
    async #connectToAny(): Promise<void> {
      const deadlineMs = performance.now() + this.#connectMs;
      let failure: unknown;
      for (const [at, host] of this.#hosts.entries()) {
        const leftMs = deadlineMs - performance.now();
        if (leftMs <= 0) break;
        if (at > 0) this.#turnTo(host);
        try {
          await this.#connectWithin(leftMs / (this.#hosts.length - at));
          hosts.prefer(host);
          return;
        } catch (error) {
          if (failure === undefined || weightOf(error) > weightOf(failure)) failure = error;
        }
      }
      throw failure;
    }

    async #connectWithin(timeoutMs: number): Promise<void> {
      const deadlineMs = performance.now() + timeoutMs;
      const client = this as unknown as Internals;
      client._connectionTimeoutMillis = timeoutMs;
      const ignore = () => {};
      this.on("error", ignore);
      try {
        await super.connect();
        await hosts.requireTarget(this, this.#config, deadlineMs - performance.now());
      } catch (error) {
        // The end of this connection is no error of the client.
        client._ending = true;
        client.connection.stream.destroy();
        throw error;
      } finally {
        this.off("error", ignore);
      }
    }

    /** Makes this client as new, with a connection that leads to `host`. */
    #turnTo(host: ServerHost): void {
      const client = this as unknown as Internals;
      client.connection.removeAllListeners();
      client.connection.on("error", () => {});
      const { ssl, connection } = new pg.Client({ ...this.#config, ...host }) as unknown as Internals;
      const isNew = { _connecting: false, _connected: false, _connectionError: false, _ending: false };
      Object.assign(client, { ...host, ssl, connection, ...isNew, _queryable: true, _ended: false });
    }
  };
}

/** A server that refuses connections may yet have some; one that is read-only has no others that matter. */
function weightOf(error: unknown): number {
  if (typeof error === "object" && error !== null && "severity" in error) return 2;
  return error instanceof WrongServerError ? 1 : 0;
}
