import type { Client, ClientOptions } from "./core/client.ts";
import { type GraphError, OperationRefused } from "./core/errors.ts";
import type { GraphResult, OpenTransport } from "./core/transport.ts";
import { createClient } from "./index.ts";

/** A client, or the settings of a new one. */
export type ClientOrOptions = Client | (ClientOptions & { readonly transport?: OpenTransport });

/** What the libraries call an observer. */
type Observer = {
  next(result: GraphResult): void;
  error(reason: unknown): void;
  complete(): void;
};

/** The client that is given, or a new one. */
export function clientOf(given: ClientOrOptions): Client {
  return "subscribe" in given ? given : createClient(given);
}

/** The server's refusal in the form in which the libraries know errors of a result; undefined for any other failure. */
export function graphErrorsOf(reason: unknown): readonly GraphError[] | undefined {
  if (!(reason instanceof OperationRefused)) return undefined;
  const { message, code, errors } = reason;
  return errors.length > 0 ? errors : [{ message, extensions: { code } }];
}

/**
 * Passes the events of a subscription to an observer, each once and in order. It starts after the variable `after`, if
 * the operation has it. The returned function ends it.
 */
export function observe(
  client: Client,
  query: string,
  variables: Readonly<Record<string, unknown>>,
  observer: Observer,
): () => void {
  const { after, ...others } = variables;
  const subscription = client.subscribe<Record<string, unknown>, object>(query, others, {
    after: typeof after === "string" ? after : null,
  });
  const deliver = async () => {
    try {
      for await (const { data, errors } of subscription) observer.next({ data, ...(errors && { errors }) });
    } catch (error) {
      observer.error(error);
      return;
    }
    observer.complete();
  };
  void deliver();
  return () => void subscription.return();
}
