import { isUtf8 } from "node:buffer";
import { CloseCode, MessageType, type WebSocket as ProtocolSocket } from "graphql-ws";
import type { WebSocket } from "ws";
import { BODY_LIMITS, measureJson } from "../../src/kernel/text/json-shape.ts";
import type { Turns } from "../http/turns.ts";
import { MessageThrottle } from "./message-throttle.ts";
import { OperationIds } from "./operation-ids.ts";

/** When a socket is given up, and how its messages are limited. */
type ConnectionOptions = {
  readonly messagesPerSecond: number;
  readonly subscriptionsPerSocket: number;
  readonly jsonDepth: number;
  readonly heartbeatMs: number;
  /** How long sent data may stay unread. */
  readonly stallMs: number;
  /** The turns shared by the messages of all connections. */
  readonly turns: Turns;
  readonly report: (error: unknown) => void;
  /** Called with the graphql-ws id of an operation that the client completes. */
  readonly completed: (id: string) => void;
};

/** Four of the largest messages. */
const MAX_WAITING_BYTES = 262_144;
/** The message envelope adds two levels around an operation; its variables may use their full depth. */
const ENVELOPE_DEPTH = 2;
/** Messages of the protocol that a server sends and never receives: the library throws for them. */
const OF_SERVERS: ReadonlySet<unknown> = new Set([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
]);
/** The WebSocket close code of an overloaded server (RFC 6455's registry). */
const TRY_AGAIN_LATER = 1013;

/**
 * A socket as graphql-ws expects it. A sender waits until its message is written, so that nothing piles up here. A
 * client that does not answer a ping before the next one, or leaves data unread for `stallMs`, is disconnected. A
 * client that reconnects stops and starts all of its subscriptions at once: that many messages, plus one second's
 * worth, are handled without delay. Messages above `messagesPerSecond` after that wait, and a flood closes the
 * socket with 4429.
 */
export class SocketConnection implements ProtocolSocket {
  readonly protocol: string;
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #throttle: MessageThrottle;
  readonly #ids = new OperationIds();
  /** Messages that wait for a turn of this connection. */
  readonly #inbox: Buffer[] = [];
  #inboxBytes = 0;
  #hasTurn = false;
  #isAlive = true;
  #sending = 0;
  #sentAt = 0;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const { messagesPerSecond, subscriptionsPerSocket } = options;
    this.#throttle = new MessageThrottle({
      burst: 2 * subscriptionsPerSocket + messagesPerSecond,
      perSecond: messagesPerSecond,
      maxWaiting: messagesPerSecond,
      maxWaitingBytes: MAX_WAITING_BYTES,
    });
    this.protocol = socket.protocol;
    const heartbeat = setInterval(() => this.#beat(), Math.min(options.heartbeatMs, options.stallMs));
    socket.once("close", () => {
      clearInterval(heartbeat);
      this.#throttle.stop();
    });
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // `ws` itself closes a socket that violates the protocol; without a listener, the error would end the process.
    socket.on("error", () => {});
  }

  send(message: string): Promise<void> {
    const socket = this.#socket;
    const text = this.#ids.send(message);
    if (text === undefined || socket.readyState !== socket.OPEN) return Promise.resolve();
    if (this.#sending === 0) this.#sentAt = Date.now();
    this.#sending += 1;
    return new Promise((resolve) => {
      socket.send(text, () => {
        this.#sending -= 1;
        this.#sentAt = Date.now();
        // A message that cannot be sent belongs to a closing socket.
        resolve();
      });
    });
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, cutReason(reason));
  }

  onMessage(take: (text: string) => Promise<void>): void {
    this.#socket.on("message", (data) => {
      const bytes = Buffer.isBuffer(data) ? data : Buffer.from(String(data));
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      if (!this.#throttle.add(bytes.length, () => this.#receive(bytes, take)))
        this.close(CloseCode.TooManyInitialisationRequests, "Too many messages");
    });
  }

  /** Handles one message of a connection per turn, so that many connections do not block everything else. */
  #receive(bytes: Buffer, take: (text: string) => Promise<void>): void {
    this.#inbox.push(bytes);
    this.#inboxBytes += bytes.length;
    if (this.#inboxBytes > MAX_WAITING_BYTES) this.#socket.pause();
    if (!this.#hasTurn) this.#takeTurn(take);
  }

  #takeTurn(take: (text: string) => Promise<void>): void {
    this.#hasTurn = true;
    const isTaken = this.#options.turns.take(() => {
      const bytes = this.#inbox.shift();
      this.#hasTurn = false;
      if (!bytes) return;
      this.#inboxBytes -= bytes.length;
      if (this.#inboxBytes <= MAX_WAITING_BYTES && this.#socket.isPaused) this.#socket.resume();
      this.#handle(bytes, take);
      if (this.#inbox.length > 0 && !this.#hasTurn) this.#takeTurn(take);
    });
    if (!isTaken) this.close(TRY_AGAIN_LATER, "Try again later");
  }

  #handle(bytes: Buffer, take: (text: string) => Promise<void>): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    // `ws` checks messages of text, but not binary ones.
    if (!isUtf8(bytes)) {
      this.close(CloseCode.BadRequest, "The message is not UTF-8");
      return;
    }
    const { excess } = measureJson(bytes, {
      ...BODY_LIMITS,
      maxDepth: this.#options.jsonDepth + ENVELOPE_DEPTH,
    });
    if (excess !== undefined) {
      this.close(CloseCode.BadRequest, `The message ${excess}`);
      return;
    }
    const received = this.#ids.receive(bytes.toString("utf8"));
    if (received.kind === "late") return;
    if (received.kind === "in-use") {
      this.close(CloseCode.SubscriberAlreadyExists, `Subscriber for ${received.id} already exists`);
      return;
    }
    const { text, completed } = received;
    if (completed !== undefined) this.#options.completed(completed);
    take(text).catch((error: unknown) => {
      if (isOfServer(text)) return this.close(CloseCode.BadRequest, "Invalid message received");
      this.#options.report(error);
      this.close(CloseCode.InternalServerError, "Internal server error");
    });
  }

  #beat(): void {
    const isStalled = this.#sending > 0 && Date.now() - this.#sentAt > this.#options.stallMs;
    if (!this.#isAlive || isStalled) {
      this.#socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.#socket.ping();
  }
}

const MAX_REASON_BYTES = 123;

/** A reason as far as a close frame has room for it (RFC 6455, section 5.5). */
export function cutReason(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return reason;
  return bytes
    .subarray(0, MAX_REASON_BYTES)
    .toString()
    .replace(/\ufffd$/, "");
}

/** Whether a message that graphql-ws parsed is one that only servers send. */
function isOfServer(text: string): boolean {
  return OF_SERVERS.has((JSON.parse(text) as { readonly type: unknown }).type);
}
