import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { OnEnd } from "../../support/servers/database.ts";

type Event = { readonly id: string; readonly cursor: string };
type Operation = { readonly query: string; readonly variables?: { readonly after?: string | null } };

/** How a stand-in breaks the protocol. By default each answer is right. */
export type Misbehaviour = {
  /** What an event has in place of its members. */
  readonly show?: (event: Event, send: number) => Partial<Event>;
  /** The events that a reader is sent at first. `from` is the number of the event after its cursor, undefined without one. */
  readonly replay?: (events: readonly Event[], from: number | undefined) => readonly Event[];
  /** Whether a reader who resumed gets new events. */
  readonly endsReplays?: boolean;
  /** The code for a cursor of nowhere. */
  readonly invalidCode?: string;
  /** The position that is answered, of the number of events. */
  readonly position?: (events: number) => number;
  /** The code for the cursor `gone`. */
  readonly expiredCode?: string;
};

const NEW_ONLY: NonNullable<Misbehaviour["replay"]> = (events, from) =>
  from === undefined ? [] : events.slice(from);

/**
 * A server of one subscription over server-sent events, whose events are numbered: `cause` emits the next one. It keeps
 * every promise of docs/resumable-subscriptions.md but those that `misbehaviour` breaks. Returns its URL.
 */
export async function startStandIn(misbehaviour: Misbehaviour, onEnd: OnEnd): Promise<string> {
  const { show = (event) => event, replay = NEW_ONLY, invalidCode = "invalid_cursor" } = misbehaviour;
  const { position = (count) => count, endsReplays, expiredCode = "cursor_expired" } = misbehaviour;
  const events: Event[] = [];
  const readers = new Set<(event: Event) => void>();
  let sends = 0;

  const subscribe = (after: string | null | undefined, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const next = (result: object) => response.write(`event: next\ndata: ${JSON.stringify(result)}\n\n`);
    const send = (event: Event) => next({ data: { made: show(event, sends++) } });
    const refuse = (code: string) => {
      next({ errors: [{ message: code, extensions: { code } }] });
      response.end("event: complete\ndata:\n\n");
    };
    if (after === "gone") return refuse(expiredCode);
    const from = after == null ? undefined : Number(after.replace("c", ""));
    if (Number.isNaN(from)) return refuse(invalidCode);
    for (const event of replay(events, from)) send(event);
    if (from !== undefined && endsReplays) return;
    readers.add(send);
    response.once("close", () => readers.delete(send));
  };

  const server = createServer(async (request, response) => {
    const { query, variables } = await readJson(request);
    if (query.startsWith("subscription")) return subscribe(variables?.after, response);
    if (query.startsWith("mutation")) {
      const event = { id: `e${events.length}`, cursor: `c${events.length + 1}` };
      events.push(event);
      for (const send of readers) send(event);
    }
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: { position: `c${position(events.length)}` } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
}

async function readJson(request: IncomingMessage): Promise<Operation> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}
