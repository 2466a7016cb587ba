import { writeSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import pg from "pg";
import type { StatementTrip } from "./points.ts";
import { isStatement, TimeGap } from "./statements.ts";

/** What a test asks of the watch in a product under test: one JSON text a line, over a socket. */
export type Order =
  /** The holds and jobs of the process before have ended. */
  | { readonly recovered: true }
  | { readonly arm: StatementTrip & { readonly occurrence: number; readonly delayMs: number } }
  | { readonly sql: string; readonly parameters: readonly unknown[] };

/** The answer to an order. */
export type OrderAnswer = { readonly rows: readonly unknown[] } | { readonly error: string };

/** Written to standard error just before the kill. */
export const REACHED = "the crash point is reached";

type Callback = (error: unknown, result: unknown) => void;
type Armed = { readonly trip: Extract<Order, { arm: unknown }>["arm"]; left: number };

/** Watches every connection of this process, and listens for orders. */
export function watchStatements(socketPath: string): void {
  let armed: Armed | undefined;
  let pool: pg.Pool | undefined;
  const gap = new TimeGap();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function watched(this: pg.Client, ...args: unknown[]) {
    const text = textOf(args[0]);
    const later = gap.shift(text);
    // Under its name the connection would expect the original text.
    if (later !== text) args[0] = { ...Object(args[0]), text: later, name: undefined };
    if (!armed || !isStatement(text, armed.trip)) return Reflect.apply(query, this, args);
    return sendWatched(armed, (given) => Reflect.apply(query, this, given), args);
  } as typeof query;
  const { connect } = pg.Pool.prototype;
  pg.Pool.prototype.connect = function first(this: pg.Pool, ...args: unknown[]) {
    pool ??= this;
    return Reflect.apply(connect, this, args);
  } as typeof connect;

  const carryOut = async (order: Order): Promise<OrderAnswer> => {
    if ("recovered" in order) gap.end();
    else if ("arm" in order) armed = { trip: order.arm, left: order.arm.occurrence };
    else if (pool)
      return { rows: (await pool.query({ text: order.sql, values: [...order.parameters] })).rows };
    return { rows: [] };
  };
  const server = createServer((socket) => {
    socket.on("error", () => {});
    createInterface({ input: socket }).on("line", (line) => {
      void carryOut(JSON.parse(line) as Order)
        .catch((error: unknown): OrderAnswer => ({ error: String(error) }))
        .then((answer) => socket.write(`${JSON.stringify(answer)}\n`));
    });
  });
  server.listen(socketPath).unref();
}

/** Sends an awaited statement, or dies. */
function sendWatched(armed: Armed, send: (args: unknown[]) => unknown, args: unknown[]): unknown {
  const { edge, statement, delayMs } = armed.trip;
  if (edge !== "after") {
    if (--armed.left !== 0) return send(args);
    // Held back: it never reaches the database.
    if (edge === "before") {
      killIn(delayMs);
      return new Promise(() => {});
    }
    send(args);
    return killAfterWorking(delayMs);
  }
  const answered = (result: unknown) => {
    // Workers also ask when there is no job.
    if (statement === "claim" && Object(result).rowCount === 0) return;
    if (--armed.left === 0) killIn(delayMs);
  };
  const last = args.at(-1);
  if (typeof last !== "function") {
    const sent = send(args) as Promise<unknown>;
    return sent.then((result) => {
      answered(result);
      return result;
    });
  }
  return send([
    ...args.slice(0, -1),
    ((error, result) => {
      if (!error) answered(result);
      (last as Callback)(error, result);
    }) satisfies Callback,
  ]);
}

function killIn(delayMs: number): void {
  if (delayMs > 0) setTimeout(kill, delayMs);
  else kill();
}

/** Keeps this thread busy, so that the answer of the statement cannot be received. */
function killAfterWorking(delayMs: number): void {
  const untilMs = performance.now() + delayMs;
  while (performance.now() < untilMs);
  kill();
}

function kill(): void {
  writeSync(2, `${REACHED}\n`);
  process.kill(process.pid, "SIGKILL");
}

function textOf(query: unknown): string {
  return typeof query === "string" ? query : String(Object(query).text ?? "");
}
