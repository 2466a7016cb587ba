import { type Client, type ClientOptions, createClientWith } from "./core/client.ts";
import type { OpenTransport } from "./core/transport.ts";
import { webSocket } from "./transports/web-socket.ts";

export type { RetryOptions } from "./core/backoff.ts";
export {
  type Client,
  type ClientOptions,
  type ConnectionState,
  type Credential,
  createClientWith,
  type WithoutAfter,
} from "./core/client.ts";
export type { Operation, TypedDocument } from "./core/document.ts";
export {
  ConnectionLost,
  EventsLost,
  type GraphError,
  OperationRefused,
  ZerographError,
} from "./core/errors.ts";
export type { LiveEvent } from "./core/live-event.ts";
export type { RepeatOptions, RequestOptions } from "./core/request.ts";
export { type DeliveredPart, execute, type PendingPart, type ResultPart } from "./core/result-parts.ts";
export type { SubscribeOptions, Subscription } from "./core/subscribe-options.ts";
export type { SubscriptionState } from "./core/subscription-state.ts";
export type {
  GraphResult,
  OpenedSubscription,
  OpenTransport,
  Transport,
  TransportOptions,
  TransportSink,
} from "./core/transport.ts";
export { openaiConfig } from "./openai.ts";
export { multipart } from "./transports/multipart.ts";
export { serverSentEvents } from "./transports/server-sent-events.ts";
export { type WebSocketOptions, webSocket } from "./transports/web-socket.ts";

/**
 * Creates a client of a gateway. Its subscriptions share one WebSocket, unless another transport is given;
 * `createClientWith` is the same without the code for WebSockets.
 */
export function createClient({
  transport = webSocket(),
  ...options
}: ClientOptions & { readonly transport?: OpenTransport }): Client {
  return createClientWith(transport, options);
}
