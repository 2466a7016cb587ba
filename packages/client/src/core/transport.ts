import type { Operation } from "./document.ts";
import type { GraphError } from "./errors.ts";
import type { Failure } from "./failures.ts";

/** A result as the server sends it. */
export type GraphResult = {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly GraphError[];
};

/** What a transport reports of one subscription. After `ended` or `failed` it reports nothing more. */
export type TransportSink = {
  /** The server has accepted the connection, and was sent the operation. */
  opened(): void;
  /** Something arrived, if only a heartbeat. */
  heard(): void;
  next(result: GraphResult): void;
  /** The server ended the subscription as planned. */
  ended(): void;
  failed(failure: Failure): void;
};

/** A subscription that a transport has opened. */
export type OpenedSubscription = {
  /** Ends it. */
  stop(): void;
  /** Ends it together with its connection, which does not respond: the next subscription opens another one. */
  abandon(): void;
};

/** Carries subscriptions. It never reconnects: its user opens a subscription again. */
export type Transport = {
  subscribe(operation: Operation, sink: TransportSink): OpenedSubscription;
  /** Makes sure that the next subscription opens a connection of its own: the credential has changed. */
  reset(): void;
  /** Closes its connections. */
  dispose(): void;
};

/** What transports need of a client. */
export type TransportOptions = {
  /** The address of POST /graphql. */
  readonly url: string;
  /** The value of the `Authorization` header; undefined for none, as with a session cookie. */
  readonly authorization: () => Promise<string | undefined>;
  readonly fetch: typeof fetch;
};

/** Creates a transport for a client. */
export type OpenTransport = (options: TransportOptions) => Transport;
