import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { readUsd, type Usd } from "../routing/routing-preferences.ts";

type Dependencies = {
  /** A decimal, or a URL that tells one; without it the price is not known. */
  readonly setting: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
};

const REFRESH_MS = 60_000;
/** Older than this a price is no longer believed. */
const FRESH_MS = 900_000;
const ANSWER_MS = 5_000;
const MAX_BYTES = 65_536;
const FIELDS = ["usd", "price", "usd_price"] as const;

/** Knows what one token of the network costs in dollars: a fixed price, or one that is read again every minute. */
export class TokenPriceService {
  readonly #dependencies: Dependencies;
  readonly #fixed: Usd | undefined;
  #read: { readonly usd: Usd; readonly atMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#fixed = dependencies.setting === undefined ? undefined : readUsd(dependencies.setting);
  }

  /** Dollars for one token; undefined when the operator named no price. Throws `unavailable` while it cannot be read. */
  current(): Usd | undefined {
    if (this.#dependencies.setting === undefined || this.#fixed !== undefined) return this.#fixed;
    if (this.#read && this.#dependencies.clock.monotonicMs() - this.#read.atMs < FRESH_MS)
      return this.#read.usd;
    throw new AppError("unavailable", "The price of the token in dollars is not known now.");
  }

  /** The same for information: undefined also while it cannot be read. */
  known(): Usd | undefined {
    try {
      return this.current();
    } catch {
      return undefined;
    }
  }

  /** Reads the price now, and again every minute until `stop`. A failed read is logged and tried again. */
  async start(): Promise<void> {
    if (this.#dependencies.setting === undefined || this.#fixed !== undefined) return;
    const refresh = () =>
      this.refresh().catch((error: unknown) =>
        this.#dependencies.log.warn({ err: error }, "reading the price of the token failed"),
      );
    await refresh();
    this.#timer = setInterval(refresh, REFRESH_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reads the price from its URL. An error leaves the last one as it was. */
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
  if (usd === undefined || usd === 0n) throw new Error("the document states no price");
  return usd;
}

/** JSON's own numbers may be written with an exponent or with more digits than anyone means. */
function decimal(stated: string | number): string {
  return typeof stated === "string" ? stated : stated.toFixed(18).replace(/\.?0+$/, "");
}
