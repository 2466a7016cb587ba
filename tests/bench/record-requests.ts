import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenQueryClient } from "../support/clients/query-clients.ts";
import type { LoadRequest } from "./load.ts";

/** An operation as an application gives it to a client. */
export type ClientOperation = {
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
};

/** The headers of the connection, which the load sets itself. */
const OF_CONNECTION: ReadonlySet<string> = new Set(["host", "connection", "content-length"]);

/** What a client sends for each operation, in their order: the client talks to a server that only records. */
export async function recordRequests(
  open: OpenQueryClient,
  operations: readonly ClientOperation[],
): Promise<readonly LoadRequest[]> {
  const requests: LoadRequest[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { url: path = "", headers } = request;
    const sent = { path, headers: withoutConnection(headers) };
    if (request.method === "GET") requests.push({ ...sent, method: "GET", body: null });
    else requests.push({ ...sent, method: "POST", body: Buffer.concat(parts) });
    response.writeHead(200, { "content-type": "application/json" }).end('{"data":{}}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const ask = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`);
    for (const { text, variables } of operations) await ask(text, variables);
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return requests;
}

function withoutConnection(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}
