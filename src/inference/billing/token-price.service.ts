import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { readUsd, type Usd } from "../routing/routing-preferences.ts";

type Dependencies = {
  /** A decimal, or a URL that returns one; undefined when no price is configured. */
  readonly setting: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
};

const REFRESH_MS = 60_000;
/** A price older than this is stale. */
const FRESH_MS = 900_000;
const ANSWER_MS = 5_000;
const MAX_BYTES = 65_536;
const FIELDS = ["usd", "price", "usd_price"] as const;

/** The price of the network's token in dollars: fixed, or refreshed from a URL every minute. */
export class TokenPriceService {
  readonly #dependencies: Dependencies;
  readonly #fixed: Usd | undefined;
  #read: { readonly usd: Usd; readonly atMs: number } | undefined;
  readonly #reads = new PeriodicTask({
    everyMs: REFRESH_MS,
    work: () => this.refresh(),
    failed: (error) => this.#dependencies.log.warn({ err: error }, "reading the token price failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#fixed = dependencies.setting === undefined ? undefined : readUsd(dependencies.setting);
  }

  /** Dollars per token; undefined when none is configured. Throws `unavailable` while the price cannot be read. */
  current(): Usd | undefined {
    if (this.#dependencies.setting === undefined || this.#fixed !== undefined) return this.#fixed;
    if (this.#read && this.#dependencies.clock.monotonicMs() - this.#read.atMs < FRESH_MS)
      return this.#read.usd;
    throw new AppError("unavailable", "The token's price in dollars is currently unavailable.");
  }

  /** Like `current`, but also undefined while the price cannot be read. */
  known(): Usd | undefined {
    try {
      return this.current();
    } catch {
      return undefined;
    }
  }

  /** Reads the price now and every minute until `stop`. A failed read is logged and retried. */
  async start(): Promise<void> {
    if (this.#dependencies.setting === undefined || this.#fixed !== undefined) return;
    this.#reads.start();
    await this.#reads.run();
  }

  /** Stops reading. A read in progress is not waited for. */
  stop(): void {
    void this.#reads.stop();
  }

  /** Reads the price from its URL. On an error the last price stays in place. */
  async refresh(): Promise<void> {
    const { setting, clock } = this.#dependencies;
    const answer = await fetch(setting ?? "", { signal: AbortSignal.timeout(ANSWER_MS), redirect: "error" });
    if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`);
    const text = await readText(answer.body);
    this.#read = { usd: priceIn(JSON.parse(text)), atMs: clock.monotonicMs() };
  }
}

async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > MAX_BYTES) throw new Error("the document is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function priceIn(document: unknown): Usd {
  const fields =
    typeof document === "object" && document !== null ? (document as Record<string, unknown>) : {};
  const name = FIELDS.find((field) => field in fields);
  const stated = name === undefined ? document : fields[name];
  const usd = typeof stated === "string" || typeof stated === "number" ? readUsd(decimal(stated)) : undefined;
  if (usd === undefined || usd === 0n) throw new Error("the document contains no price");
  return usd;
}

/** A JSON number may have an exponent, or more digits than intended. */
function decimal(stated: string | number): string {
  return typeof stated === "string" ? stated : stated.toFixed(18).replace(/\.?0+$/, "");
}
