import pg, { type PoolClient } from "pg";
import type { ServerAddress } from "./server-address.ts";

/** If the server hangs, the statement ends by its time limit. */
const CANCEL_MS = 1_000;

/** Internals of a `pg` connection that its types do not declare. */
type Session = {
  readonly processID: number | null;
  readonly secretKey: unknown;
  readonly host: string;
  readonly port: number;
  readonly ssl: ServerAddress["ssl"];
};
type Connection = {
  readonly stream: { destroy(): void };
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: unknown): void;
  on(event: "connect" | "sslconnect" | "end" | "error", listener: () => void): void;
};

/**
 * Cancels the statement of `client` by the protocol's cancel request on a separate connection: a pooler forwards it to
 * the server process that runs the statement. Resolves when the server has received it.
 */
export async function cancelStatement(client: PoolClient, address: ServerAddress): Promise<void> {
  const { processID, secretKey, host, port, ssl } = client as unknown as Session;
  if (processID === null) return;
  // Only the client's connection is used, which resolves the address like any other.
  const { connection } = new pg.Client({ ...address, host, port, ssl }) as unknown as {
    readonly connection: Connection;
  };
  const { sslnegotiation } = address;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CANCEL_MS);
  const send = () => connection.cancel(processID, secretKey);
  connection.on("error", resolve);
  connection.on("end", resolve);
  connection.on("sslconnect", send);
  connection.on("connect", () => {
    if (!ssl) send();
    else if (sslnegotiation !== "direct") connection.requestSsl();
  });
  if (host.startsWith("/")) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
  await promise;
  clearTimeout(timer);
  connection.stream.destroy();
}
