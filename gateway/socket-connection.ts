import { CloseCode, type WebSocket as ProtocolSocket } from "graphql-ws";
import type { WebSocket } from "ws";

/** How a socket is kept and given up. */
type ConnectionOptions = {
  readonly messagesPerSecond: number;
  readonly heartbeatMs: number;
  /** How long what was sent may stay unread. */
  readonly stallMs: number;
  readonly report: (error: unknown) => void;
};

const SECOND_MS = 1_000;

/**
 * A socket as graphql-ws wants it. Who sends waits until it is on its way, so that nothing piles up here. A client that
 * does not answer a ping by the next one, or leaves what was sent unread for `stallMs`, is given up; one that sends more
 * than `messagesPerSecond` is closed with 4429.
 */
export class SocketConnection implements ProtocolSocket {
  readonly protocol: string;
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  #isAlive = true;
  #sending = 0;
  #sentAt = 0;
  #second = 0;
  #messages = 0;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.protocol = socket.protocol;
    const pulse = setInterval(() => this.#beat(), Math.min(options.heartbeatMs, options.stallMs));
    socket.once("close", () => clearInterval(pulse));
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    // `ws` closes a socket that breaks the protocol by itself; what is left is to not let that end the process.
    socket.on("error", () => {});
  }

  send(text: string): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return Promise.resolve();
    if (this.#sending === 0) this.#sentAt = Date.now();
    this.#sending += 1;
    return new Promise((resolve) => {
      socket.send(text, () => {
        this.#sending -= 1;
        this.#sentAt = Date.now();
        // One that cannot be sent is for a socket that closes.
        resolve();
      });
    });
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  onMessage(take: (text: string) => Promise<void>): void {
    this.#socket.on("message", (data) => {
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      if (this.#isTooMany()) return this.close(CloseCode.TooManyInitialisationRequests, "Too many messages");
      take(String(data)).catch((error: unknown) => {
        this.#options.report(error);
        this.close(CloseCode.InternalServerError, "Internal server error");
      });
    });
  }

  #isTooMany(): boolean {
    const second = Math.floor(Date.now() / SECOND_MS);
    if (second !== this.#second) this.#messages = 0;
    this.#second = second;
    this.#messages += 1;
    return this.#messages > this.#options.messagesPerSecond;
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
