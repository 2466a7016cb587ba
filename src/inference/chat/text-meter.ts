import type { Bodies } from "../body/body-pool.ts";

/** So much text is kept before it is counted; most answers are shorter and state their usage. */
const MAX_KEPT = 262_144;

/** Counts the tokens of a text that comes in pieces, in bounded memory. */
export class TextMeter {
  readonly #bodies: Pick<Bodies, "countText">;
  readonly #counts: Promise<number>[] = [];
  #text = "";

  constructor(bodies: Pick<Bodies, "countText">) {
    this.#bodies = bodies;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_KEPT) this.#fold();
  }

  /** Forgets what was added: it was counted by someone else. */
  clear(): void {
    this.#text = "";
    this.#counts.length = 0;
  }

  /** Tokens of all that was added since it was cleared. Never rejects. */
  async count(): Promise<number> {
    this.#fold();
    const counts = await Promise.all(this.#counts);
    return counts.reduce((sum, tokens) => sum + tokens, 0);
  }

  #fold(): void {
    if (this.#text === "") return;
    this.#counts.push(this.#bodies.countText(this.#text));
    this.#text = "";
  }
}
