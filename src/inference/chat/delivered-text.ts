import { ProviderFailure } from "../providers/provider-failure.ts";

/** A part of what an event says. Its channel is what it is a part of: one answer of several, its thoughts, its end. */
export type Piece = { readonly channel: string; readonly text: string };

/** Longer answers are not taken up by another provider, as they are kept in memory for it. */
const MAX_CHARACTERS = 1_048_576;

/** What a client was given of a streamed answer, kept so that another provider's can be compared with it. */
export class DeliveredText {
  readonly #channels = new Map<string, string[]>();
  #characters = 0;
  #isRepeatable = true;

  /** Whether another provider might say the same: it is not too long, and nothing is in it that is said only once. */
  get isRepeatable(): boolean {
    return this.#isRepeatable;
  }

  /** Adds what an event said; undefined for what cannot be repeated. */
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

  /** What each channel has said. */
  texts(): ReadonlyMap<string, string> {
    return new Map([...this.#channels].map(([channel, texts]) => [channel, texts.join("")]));
  }
}

/**
 * Compares what a provider says with what the client was given by the one before, and lets through only what goes on
 * from there: not a character twice, and nothing of an answer that is another one.
 */
export class ResumeMatcher {
  readonly #left: Map<string, string>;

  constructor(transcript: DeliveredText) {
    this.#left = new Map([...transcript.texts()].filter(([, text]) => text !== ""));
  }

  /** Whether everything was repeated. */
  get isOver(): boolean {
    return this.#left.size === 0;
  }

  /**
   * What of these pieces is new, one text for each. Throws a `ProviderFailure` of the kind `differs` when they are not
   * what the client was given, or new before all of that was repeated.
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

/** The failure of a provider whose answer is not the one that was begun. */
export function differs(): ProviderFailure {
  return new ProviderFailure("differs", { message: "Another provider's answer was not the same." });
}
