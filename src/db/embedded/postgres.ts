import { PGlite } from "@electric-sql/pglite";

/** Options of an embedded PostgreSQL: its folder or `memory://`, and a dump to load (memory only). */
export type PostgresOptions = { readonly dataDir: string; readonly loadDataDir?: Blob };

/** One PostgreSQL session over the wire protocol, version 3, wherever the database runs. */
export type PostgresSession = {
  /**
   * Runs whole messages of a client and resolves with PostgreSQL's complete answer. A startup message begins a new
   * session; the previous session is rolled back and its prepared statements are dropped.
   */
  exchange(messages: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
};

/** PostgreSQL compiled to WebAssembly (PGlite), in the calling thread: a statement blocks it until it is done. */
export class EmbeddedPostgres implements PostgresSession {
  readonly #pglite: PGlite;

  private constructor(pglite: PGlite) {
    this.#pglite = pglite;
  }

  /** Opens the database, and creates it if necessary. */
  static async open(options: PostgresOptions): Promise<EmbeddedPostgres> {
    return new EmbeddedPostgres(await PGlite.create({ ...options }));
  }

  async exchange(messages: Uint8Array): Promise<Uint8Array> {
    if (isStartup(messages)) return this.#begin(messages);
    const chunks: Uint8Array[] = [];
    await this.#pglite.execProtocolRawStream(messages, {
      syncToFs: false,
      // The chunk is a view of PostgreSQL's memory, which the next chunk overwrites.
      onRawData: (chunk) => chunks.push(chunk.slice()),
    });
    return concat(chunks);
  }

  /** The data folder as a tar archive, from which a database in memory can be loaded. */
  dump(): Promise<Blob> {
    return this.#pglite.dumpDataDir("none");
  }

  async close(): Promise<void> {
    await this.#pglite.close();
  }

  async #begin(startup: Uint8Array): Promise<Uint8Array> {
    for (const statement of NEW_SESSION) await this.#pglite.exec(statement);
    return this.#pglite.execProtocolRaw(startup, { syncToFs: false });
  }
}

/** Whether the message is a startup: only this one has no type byte, and begins with the high byte of its length. */
export function isStartup(messages: Uint8Array): boolean {
  return messages[0] === 0;
}

/**
 * Generic plans: without them every second lookup of a file was planned again, which took longer than the lookup.
 */
const NEW_SESSION = ["rollback", "discard all", "set plan_cache_mode = force_generic_plan"] as const;

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = chunks;
  if (only && others.length === 0) return only;
  const whole = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
