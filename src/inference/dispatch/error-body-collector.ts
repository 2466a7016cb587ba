import type { AppError } from "../../kernel/errors.ts";
import { refusalOf, statedFailure } from "../providers/exchange/provider-answer.ts";
import type { ProviderHead } from "../providers/exchange/provider-exchange.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";

const MAX_BYTES = 65_536;

/** Collects the body that a provider sends instead of an event stream. */
export class ErrorBodyCollector {
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;

  /** Stores a chunk. Returns false once enough is stored. */
  keep(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#sizeBytes += chunk.length;
    return this.#sizeBytes < MAX_BYTES;
  }

  /** The failure that the body represents. */
  failure(head: ProviderHead | undefined): AppError {
    const body = Buffer.concat(this.#chunks);
    if (head && head.status !== 200) return refusalOf(head, body);
    const error = errorIn(body);
    if (error !== undefined) return statedFailure(error, head?.providerUrl);
    return new ProviderFailure("malformed", { message: "The provider did not answer with a stream." });
  }
}

function errorIn(body: Buffer): unknown {
  try {
    const answer: unknown = JSON.parse(body.toString("utf8"));
    return typeof answer === "object" && answer !== null && "error" in answer ? answer.error : undefined;
  } catch {
    return undefined;
  }
}
