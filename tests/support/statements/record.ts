import { appendFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import pg from "pg";

/**
 * Loaded into the product under test with `--import`: writes every statement that it sends to PostgreSQL to
 * STATEMENTS_FILE, each text once, as one JSON text a line.
 */
const { STATEMENTS_FILE } = process.env;
// Not into the programs that the product starts, nor its threads.
delete process.env.NODE_OPTIONS;
if (STATEMENTS_FILE && isMainThread) {
  const known = new Set<string>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function recorded(this: pg.Client, ...args: unknown[]) {
    const text = typeof args[0] === "string" ? args[0] : String(Object(args[0]).text ?? "");
    if (!known.has(text)) {
      known.add(text);
      appendFileSync(STATEMENTS_FILE, `${JSON.stringify(text)}\n`);
    }
    return Reflect.apply(query, this, args);
  } as typeof query;
}
