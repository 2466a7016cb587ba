import { Duplex } from "node:stream";
import type { PostgresSession } from "./postgres.ts";

/**
 * A socket for `pg` that replaces the connection to a server: writes go to an embedded PostgreSQL, and reads return its
 * answers. `pg` writes whole messages, and corks those that belong together, so that a statement is one exchange.
 */
export class PostgresSocket extends Duplex {
  readonly #session: PostgresSession;

  constructor(session: PostgresSession) {
    super();
    this.#session = session;
  }

  /** There is nothing to connect to, but `pg` waits for the event. */
  connect(): this {
    queueMicrotask(() => this.emit("connect"));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _write(messages: Buffer, _encoding: string, done: Done): void {
    this.#exchange(messages, done);
  }

  override _writev(parts: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#exchange(Buffer.concat(parts.map(({ chunk }) => chunk)), done);
  }

  override _read(): void {}

  override _final(done: Done): void {
    this.push(null);
    done();
  }

  #exchange(messages: Buffer, done: Done): void {
    this.#session.exchange(messages).then(({ buffer, byteOffset, byteLength }) => {
      if (!this.destroyed) this.push(Buffer.from(buffer, byteOffset, byteLength));
      done();
    }, done);
  }
}

type Done = (error?: Error) => void;
