import { PGlite } from "@electric-sql/pglite";

/** What an embedded PostgreSQL is opened with: its folder or `memory://`, and a dump to begin with (memory only). */
export type PostgresOptions = { readonly dataDir: string; readonly loadDataDir?: Blob };

/** One session of a PostgreSQL over the wire protocol, version 3, wherever it runs. */
export type PostgresSession = {
  /**
   * Runs whole messages of a client and resolves with all that PostgreSQL answers. A startup message begins a new
   * session; the session before is rolled back and its prepared statements are dropped.
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

  /** Opens the database. It is created where there is none. */
  static async open(options: PostgresOptions): Promise<EmbeddedPostgres> {
    return new EmbeddedPostgres(await PGlite.create({ ...options }));
  }

  async exchange(messages: Uint8Array): Promise<Uint8Array> {
    if (isStartup(messages)) return this.#begin(messages);
    const chunks: Uint8Array[] = [];
    await this.#pglite.execProtocolRawStream(messages, {
      syncToFs: false,
      // The chunk is a view of PostgreSQL's memory, and the next chunk overwrites it.
      onRawData: (chunk) => chunks.push(chunk.slice()),
    });
    return concat(chunks);
  }

  /** The data folder as a tar archive, from which a database in memory can begin. */
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

/** Whether a client begins a session: only this message has no type byte, and begins with the high byte of its length. */
export function isStartup(messages: Uint8Array): boolean {
  return messages[0] === 0;
}

/**
 * Generic plans, because without them every second look-up of a file was planned anew, which took longer than the
 * look-up.
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
