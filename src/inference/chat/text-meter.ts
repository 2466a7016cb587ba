import type { Bodies } from "../body/body-pool.ts";
import { AnswerTexts } from "./answer-texts.ts";

/**
 * Texts are buffered up to this length before they are counted; most answers are shorter and report their usage. Where a
 * longer text is cut, it may count for a token more.
 */
const MAX_BUFFERED = 262_144;

/** Counts the tokens of texts that arrive in pieces, in bounded memory. */
export class TextMeter extends AnswerTexts {
  readonly #bodies: Pick<Bodies, "countTexts">;
  readonly #counts: Promise<number>[] = [];

  constructor(bodies: Pick<Bodies, "countTexts">) {
    super();
    this.#bodies = bodies;
  }

  override add(channel: string, text: string): void {
    super.add(channel, text);
    if (this.length > MAX_BUFFERED) this.#flush();
  }

  /** Discards the texts added so far: the provider has counted them. */
  clear(): void {
    this.take();
    this.#counts.length = 0;
  }

  /** Counts the tokens of the texts added since the last `clear`. Never rejects. */
  async count(): Promise<number> {
    this.#flush();
    const counts = await Promise.all(this.#counts);
    return counts.reduce((sum, tokens) => sum + tokens, 0);
  }

  #flush(): void {
    const texts = this.take();
    if (texts.length > 0) this.#counts.push(this.#bodies.countTexts(texts));
  }
}
