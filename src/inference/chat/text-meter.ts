import type { Bodies } from "../body/body-pool.ts";

/** Text is buffered up to this length before it is counted; most answers are shorter and report their usage. */
const MAX_BUFFERED = 262_144;

/** Counts the tokens of a text that arrives in pieces, in bounded memory. */
export class TextMeter {
  readonly #bodies: Pick<Bodies, "countText">;
  readonly #counts: Promise<number>[] = [];
  #text = "";

  constructor(bodies: Pick<Bodies, "countText">) {
    this.#bodies = bodies;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_BUFFERED) this.#flush();
  }

  /** Discards the text added so far: the provider has counted it. */
  clear(): void {
    this.#text = "";
    this.#counts.length = 0;
  }

  /** Counts the tokens of the text added since the last `clear`. Never rejects. */
  async count(): Promise<number> {
    this.#flush();
    const counts = await Promise.all(this.#counts);
    return counts.reduce((sum, tokens) => sum + tokens, 0);
  }

  #flush(): void {
    if (this.#text === "") return;
    this.#counts.push(this.#bodies.countText(this.#text));
    this.#text = "";
  }
}
