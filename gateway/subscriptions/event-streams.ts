import { randomBytes } from "node:crypto";
import type { ExecutionResult } from "graphql";
import { closeSource } from "../../src/kernel/async/releasing-iterator.ts";
import { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";
import { ClientLeft } from "../http/request-abort.ts";
import { lossResult, pump, resultText } from "./results.ts";
import type { Results, StreamedOperation } from "./streamed-operation.ts";
import type { StreamingResponse } from "./streaming-response.ts";
import type { Streams } from "./streams.ts";

/** A reserved stream must be opened within this time. */
const OPEN_WITHIN_MS = 30_000;
/** Messages buffered for a stream that is not open yet. */
const MAX_WAITING = 100;

/** Event streams that carry several operations each, by token. */
export class EventStreams {
  readonly #streams: Streams;
  readonly #reserved = new Map<string, EventStream>();

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /**
   * Reserves a stream for the caller and returns its token. Throws when the caller or this process has no free slot.
   */
  reserve(principal: Principal, hop: Hop): string {
    const release = this.#streams.take("sockets", principal, hop);
    if (!release)
      throw new AppError("rate_limit_exceeded", "Too many reserved streams. Close one first.", {
        retryAfterSeconds: 1,
      });
    const token = randomBytes(24).toString("base64url");
    const stream = new EventStream(this.#streams, principal, () => {
      this.#reserved.delete(token);
      release();
    });
    this.#reserved.set(token, stream);
    return token;
  }

  /** The stream with this token, if the same credential reserved it. Throws `not_found`. */
  find(token: string | undefined, principal: Principal): EventStream {
    const stream = token === undefined ? undefined : this.#reserved.get(token);
    if (!stream?.isOf(principal))
      throw new AppError("not_found", "There is no such stream. Reserve one with PUT.");
    return stream;
  }

  /** Closes all streams. */
  close(): void {
    for (const stream of [...this.#reserved.values()]) stream.close();
  }
}

type Operation = { readonly abort: AbortController; results: Results | undefined };

/** One connection for several operations, which may start before it is opened. */
class EventStream {
  readonly #streams: Streams;
  readonly #owner: string;
  readonly #operations = new Map<string, Operation>();
  readonly #stopWatching: () => void;
  readonly #onEnd: () => void;
  readonly #deadline: NodeJS.Timeout;
  #waiting: string[] = [];
  #response: StreamingResponse | undefined;
  #isOver = false;

  constructor(streams: Streams, principal: Principal, onEnd: () => void) {
    this.#streams = streams;
    this.#owner = JSON.stringify(principal);
    this.#onEnd = onEnd;
    // The operations receive the credential's end first, and report it to the client.
    this.#stopWatching = streams.watch(principal, () => setImmediate(() => this.close()));
    this.#deadline = setTimeout(() => this.close(), OPEN_WITHIN_MS).unref();
  }

  isOf(principal: Principal): boolean {
    return this.#owner === JSON.stringify(principal);
  }

  /** Opens the connection. Throws `duplicate_name` if it is already open, and what `toResponse` throws. */
  open(toResponse: (onClose: () => void) => StreamingResponse): void {
    if (this.#response) throw new AppError("duplicate_name", "This stream is already open.");
    this.#response = toResponse(() => this.close());
    clearTimeout(this.#deadline);
    for (const text of this.#waiting.splice(0)) void this.#response.write(text);
  }

  /** Registers an operation; its signal aborts when it is stopped. Throws when the id is taken or the stream full. */
  begin(id: string): AbortSignal {
    if (this.#operations.has(id))
      throw new AppError("duplicate_name", "An operation with this id already exists.");
    const most = this.#streams.limits.subscriptionsPerSocket;
    if (this.#operations.size >= most)
      throw new AppError("rate_limit_exceeded", `A stream carries at most ${most} operations.`);
    const abort = new AbortController();
    this.#operations.set(id, { abort, results: undefined });
    return abort.signal;
  }

  /** Runs a registered operation. */
  async run(id: string, operation: StreamedOperation): Promise<void> {
    try {
      await this.#run(id, operation);
    } finally {
      operation.contextValue.memory.end();
    }
  }

  async #run(id: string, operation: StreamedOperation): Promise<void> {
    const own = this.#operations.get(id);
    if (!own) return;
    const { report } = this.#streams;
    const results = await this.#streams.run(operation).catch((error: unknown) => lossResult(error, report));
    if (Symbol.asyncIterator in results) own.results = results;
    if (own.abort.signal.aborted) return closeSource(own.results);
    const deliver = (result: ExecutionResult) =>
      this.#write(`event: next\ndata: {"id":${JSON.stringify(id)},"payload":${resultText(result)}}\n\n`);
    await pump(results, deliver, (reason) => deliver(lossResult(reason, report)));
    if (this.#operations.get(id) !== own) return;
    this.#operations.delete(id);
    await this.#write(`event: complete\ndata: {"id":${JSON.stringify(id)}}\n\n`);
  }

  /** Stops an operation without sending anything further. */
  stop(id: string): void {
    const operation = this.#operations.get(id);
    this.#operations.delete(id);
    operation?.abort.abort(new ClientLeft());
    closeSource(operation?.results);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#stopWatching();
    for (const id of [...this.#operations.keys()]) this.stop(id);
    this.#response?.end();
    this.#onEnd();
  }

  async #write(text: string): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#response) return this.#response.write(text);
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(text);
    else this.close();
    return !this.#isOver;
  }
}
