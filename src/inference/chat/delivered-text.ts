import { ProviderFailure } from "../providers/exchange/provider-failure.ts";

/**
 * A piece of text of an event. Its channel identifies what it belongs to: a choice's content, reasoning or finish
 * reason.
 */
export type Piece = { readonly channel: string; readonly text: string };

/** Longer answers are not resumed with another provider, because the delivered text is held in memory. */
const MAX_CHARACTERS = 1_048_576;

/** The part of a streamed answer that the client has received, stored to compare another provider's answer with it. */
export class DeliveredText {
  readonly #channels = new Map<string, string[]>();
  #characters = 0;
  #isRepeatable = true;

  /** Whether another provider could repeat the text: it is not too long and contains nothing unrepeatable. */
  get isRepeatable(): boolean {
    return this.#isRepeatable;
  }

  /** Adds the pieces of an event; undefined for an event that cannot be repeated. */
  add(pieces: readonly Piece[] | undefined): void {
    if (!this.#isRepeatable) return;
    for (const { channel, text } of pieces ?? []) {
      const known = this.#channels.get(channel);
      if (known) known.push(text);
      else this.#channels.set(channel, [text]);
      this.#characters += text.length;
    }
    if (pieces && this.#characters <= MAX_CHARACTERS) return;
    this.#isRepeatable = false;
    this.#channels.clear();
  }

  /** The full text of each channel. */
  texts(): ReadonlyMap<string, string> {
    return new Map([...this.#channels].map(([channel, texts]) => [channel, texts.join("")]));
  }
}

/**
 * Compares a provider's answer with the text that the client received from the previous provider, and passes only the
 * continuation: no character twice, and nothing of an answer that differs.
 */
export class ResumeMatcher {
  readonly #left: Map<string, string>;

  constructor(delivered: DeliveredText) {
    this.#left = new Map([...delivered.texts()].filter(([, text]) => text !== ""));
  }

  /** Whether all of the delivered text has been repeated. */
  get isOver(): boolean {
    return this.#left.size === 0;
  }

  /**
   * Returns the new part of each piece. Throws a `ProviderFailure` of kind `differs` when a piece differs from the
   * delivered text, or adds to it before all of it was repeated.
   */
  take(pieces: readonly Piece[] | undefined): readonly string[] {
    if (!pieces) throw differs();
    const texts = pieces.map((piece) => this.#takeOne(piece));
    if (!this.isOver && texts.some((text) => text !== "")) throw differs();
    return texts;
  }

  #takeOne({ channel, text }: Piece): string {
    const left = this.#left.get(channel) ?? "";
    if (text.startsWith(left)) {
      this.#left.delete(channel);
      return text.slice(left.length);
    }
    if (!left.startsWith(text)) throw differs();
    this.#left.set(channel, left.slice(text.length));
    return "";
  }
}

/** The failure of a provider whose answer differs from the one that was begun. */
export function differs(): ProviderFailure {
  return new ProviderFailure("differs", { message: "Another provider's answer was different." });
}
