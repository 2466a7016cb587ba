import { randomBytes } from "node:crypto";
import type { ExecutionResult } from "graphql";
import { closeSource } from "../../src/kernel/async/releasing-iterator.ts";
import { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { Hop } from "../../src/keys/auth/source-address.ts";
import type { OperationMemory } from "../../src/load/operation-memory.ts";
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
   * Reserves a stream for the caller and returns its token. `memory` is the budget of results that wait for the stream
   * to be opened. Throws when the caller or this process has no free slot.
   */
  reserve(principal: Principal, hop: Hop, memory: OperationMemory): string {
    const release = this.#streams.take("sockets", principal, hop);
    if (!release)
      throw new AppError("rate_limit_exceeded", "Too many reserved streams. Close one first.", {
        retryAfterSeconds: 1,
      });
    const token = randomBytes(24).toString("base64url");
    const onEnd = () => {
      this.#reserved.delete(token);
      release();
    };
    const stream = new EventStream(this.#streams, { principal, memory, onEnd });
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

/** An operation on a stream. Its client may use the id again once it has stopped the operation. */
type Operation = { readonly id: string; readonly abort: AbortController; results: Results | undefined };

type Reservation = {
  readonly principal: Principal;
  readonly memory: OperationMemory;
  readonly onEnd: () => void;
};

/** One connection for several operations, which may start before it is opened. */
class EventStream {
  readonly #streams: Streams;
  readonly #owner: string;
  readonly #operations = new Map<string, Operation>();
  readonly #stopWatching: () => void;
  readonly #onEnd: () => void;
  readonly #deadline: NodeJS.Timeout;
  readonly #memory: OperationMemory;
  #waiting: string[] = [];
  #response: StreamingResponse | undefined;
  #isOver = false;

  constructor(streams: Streams, { principal, memory, onEnd }: Reservation) {
    this.#streams = streams;
    this.#memory = memory;
    this.#owner = JSON.stringify(principal);
    this.#onEnd = onEnd;
    // The operations receive the credential's end first, and report it to the client.
    const closeLater = () => void setImmediate(() => this.close());
    this.#stopWatching = streams.watch(principal, closeLater, { isLast: true });
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
    const response = this.#response;
    const writing = this.#waiting.splice(0).map((text) => response.write(text));
    void Promise.all(writing).then(() => this.#memory.end());
  }

  /** Registers an operation, which aborts when it is stopped. Throws when the id is taken or the stream full. */
  begin(id: string): Operation {
    if (this.#operations.has(id))
      throw new AppError("duplicate_name", "An operation with this id already exists.");
    const most = this.#streams.limits.subscriptionsPerSocket;
    if (this.#operations.size >= most)
      throw new AppError("rate_limit_exceeded", `A stream carries at most ${most} operations.`);
    const operation = { id, abort: new AbortController(), results: undefined };
    this.#operations.set(id, operation);
    return operation;
  }

  /** Runs a registered operation. */
  async run(own: Operation, operation: StreamedOperation): Promise<void> {
    try {
      await this.#run(own, operation);
    } finally {
      operation.contextValue.memory.end();
    }
  }

  async #run(own: Operation, operation: StreamedOperation): Promise<void> {
    const { id, abort } = own;
    if (abort.signal.aborted) return;
    const { report } = this.#streams;
    const results = await this.#streams.run(operation).catch((error: unknown) => lossResult(error, report));
    if (Symbol.asyncIterator in results) own.results = results;
    if (abort.signal.aborted) return closeSource(own.results);
    const deliver = (result: ExecutionResult) =>
      this.#write(`event: next\ndata: {"id":${JSON.stringify(id)},"payload":${resultText(result)}}\n\n`);
    await pump(results, deliver, (reason) => deliver(lossResult(reason, report)));
    if (this.#operations.get(id) !== own) return;
    this.#operations.delete(id);
    await this.#write(`event: complete\ndata: {"id":${JSON.stringify(id)}}\n\n`);
  }

  /** Stops the operation that has this id now, without sending anything further. */
  stopById(id: string): void {
    const operation = this.#operations.get(id);
    if (operation) this.stop(operation);
  }

  /** Stops an operation without sending anything further. */
  stop(operation: Operation): void {
    const { id, abort, results } = operation;
    if (this.#operations.get(id) === operation) this.#operations.delete(id);
    abort.abort(new ClientLeft());
    closeSource(results);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#stopWatching();
    for (const operation of [...this.#operations.values()]) this.stop(operation);
    this.#response?.end();
    this.#waiting.length = 0;
    this.#memory.end();
    this.#onEnd();
  }

  async #write(text: string): Promise<boolean> {
    if (this.#isOver) return false;
    if (this.#response) return this.#response.write(text);
    if (this.#waiting.length < MAX_WAITING && this.#reserveMemory(text)) this.#waiting.push(text);
    else this.close();
    return !this.#isOver;
  }

  /** Reserves the memory of a text that waits. False if there is not enough. */
  #reserveMemory(text: string): boolean {
    try {
      this.#memory.reserve(text.length);
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  }
}
