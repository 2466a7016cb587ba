import type { Client, Pool } from "pg";
import type { Logger } from "../../kernel/log.ts";

/** The errors of attempts to connect: a rejected login or certificate, a missing database, any other reason. */
const failures = new WeakSet<object>();

/** Whether an error is that of an attempt to connect: no statement was sent, and the server or its settings are at fault. */
export function isConnectFailure(error: unknown): boolean {
  return typeof error === "object" && error !== null && failures.has(error);
}

/**
 * Marks the errors of a pool's further attempts to connect, for `isConnectFailure`. Logs each reason once until a
 * connection is opened again: every request that waits for a connection has the same one.
 */
export function noteConnectFailures(pool: Pool, log: Pick<Logger, "warn" | "info"> | undefined): void {
  let logged: string | undefined;
  const note = (error: unknown) => {
    if (typeof error === "object" && error !== null) failures.add(error);
    const { message, code } = Object(error) as { readonly message?: unknown; readonly code?: unknown };
    const why = code === undefined ? String(message) : `${message} (${code})`;
    if (why === logged) return;
    logged = why;
    log?.warn({ why }, "the database cannot be connected to");
  };
  const opened = () => {
    if (logged !== undefined) log?.info("the database can be connected to again");
    logged = undefined;
  };
  const internals = pool as Internals;
  internals.Client = marked(internals.Client, note, opened);
}

/** An internal of a pool, which its types do not declare: what its connections are made with. */
type Internals = Pool & { Client: typeof Client };

type OnConnected = ((error: Error) => void) | ((error: null, client: Client) => void);

function marked(Base: typeof Client, note: (error: unknown) => void, opened: () => void): typeof Client {
  return class extends Base {
    override connect(): Promise<Client>;
    override connect(callback: OnConnected): void;
    override connect(callback?: OnConnected): Promise<Client> | undefined {
      const connected = super.connect().then(
        () => {
          opened();
          return this as Client;
        },
        (error: unknown) => {
          note(error);
          throw error;
        },
      );
      if (!callback) return connected;
      const settle = callback as (error: unknown, client?: Client) => void;
      connected.then((client) => settle(null, client), settle);
      return undefined;
    }
  };
}
