import { MessageType } from "graphql-ws";
import { TransientMap } from "../../src/kernel/transient-map.ts";

/** A client's message as graphql-ws gets it, and our id of the operation that it ends. */
type Received =
  | { readonly kind: "message"; readonly text: string; readonly completed?: string }
  /** It starts an operation under an id that is in use. */
  | { readonly kind: "in-use"; readonly id: string }
  /** It ends an operation that has already ended. */
  | { readonly kind: "late" };

/** How graphql-ws begins each message about an operation. */
const OWN_ID = /^\{"id":"(\d+)","type":"(\w+)"/;
const LAST: ReadonlySet<string | undefined> = new Set([MessageType.Complete, MessageType.Error]);

/**
 * The ids of the operations on one socket. A client may use an id again once it has completed the operation, which may
 * still be opening or sending then. graphql-ws knows operations by their id alone: it would send the results of both
 * under it, and end the second one with the first. So it gets an id of ours for each operation, which is never used
 * again, and nothing is sent for an operation that the client has completed.
 */
export class OperationIds {
  /** Our ids of the operations in progress, by the clients', and the reverse. */
  readonly #own = new TransientMap<string, string>();
  readonly #clients = new TransientMap<string, string>();
  #count = 0;

  /** Reads a client's message, and puts our id in it. */
  receive(text: string): Received {
    const message = parsed(text);
    const { type, id } = message;
    const kind = "message";
    if (typeof id !== "string" || id === "") return { kind, text };
    if (type === MessageType.Subscribe) {
      if (this.#own.has(id)) return { kind: "in-use", id };
      return { kind, text: JSON.stringify({ ...message, id: this.#begin(id) }) };
    }
    if (type !== MessageType.Complete) return { kind, text };
    const own = this.#own.get(id);
    if (own === undefined) return { kind: "late" };
    this.#end(id, own);
    return { kind, text: JSON.stringify({ ...message, id: own }), completed: own };
  }

  /** A message of graphql-ws with the client's id; undefined for an operation that the client has completed. */
  send(text: string): string | undefined {
    const [head, own = "", type] = OWN_ID.exec(text) ?? [];
    if (head === undefined) return text;
    const id = this.#clients.get(own);
    if (id === undefined) return undefined;
    if (LAST.has(type)) this.#end(id, own);
    return `{"id":${JSON.stringify(id)},"type":"${type}"${text.slice(head.length)}`;
  }

  #begin(id: string): string {
    this.#count += 1;
    const own = String(this.#count);
    this.#own.set(id, own);
    this.#clients.set(own, id);
    return own;
  }

  #end(id: string, own: string): void {
    this.#own.delete(id);
    this.#clients.delete(own);
  }
}

/** The members of a message; empty for a text that graphql-ws refuses. */
function parsed(text: string): { readonly type?: unknown; readonly id?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
