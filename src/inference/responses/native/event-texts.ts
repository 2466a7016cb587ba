import type { Fields } from "../../body/fields.ts";
import { emptyAnswer } from "../../chat/whole-answer.ts";

const DELTA = ".delta";
const DONE = ".done";
/** The members of the last event of a text that have it whole. */
const WHOLE = ["text", "refusal", "arguments", "input", "transcript"] as const;
/** Types of events are shorter. */
const MAX_KIND = 100;
/** Maximum number of texts of an answer, such as its messages and the arguments of its tool calls. */
const MAX_TEXTS = 10_000;
/** The deltas of audio are no text. */
const AUDIO = /audio$/;
const SUMMARY = "response.reasoning_summary_text";
const REASONING = "response.reasoning_text";

/**
 * What an event adds to the answer. `channel` is where the text is counted, and absent if it is not: audio, and a summary
 * beside the reasoning that it sums up, as in a whole response. The text takes the place of that of `replaces`.
 */
export type AddedText = {
  readonly text: string;
  readonly channel: string | undefined;
  readonly replaces: string | undefined;
};

/**
 * The texts that the events of a response say: each in deltas and then whole, and a few servers send one of them only.
 * Repeats no character, in bounded memory.
 */
export class EventTexts {
  /** The length of the text so far, by the text's place. */
  readonly #lengths = new Map<string, number>();
  /** The summaries of reasoning whose text was sent. */
  readonly #reasoned = new Set<string>();

  /** Whether no event had a text. */
  get isEmpty(): boolean {
    return this.#lengths.size === 0;
  }

  /** What an event adds to the texts; undefined if nothing. Throws a `ProviderFailure` for too many texts. */
  added(event: Fields): AddedText | undefined {
    const type = String(event.type);
    if (type.endsWith(DELTA)) return this.#add(event, type.slice(0, -DELTA.length), textOf(event.delta));
    if (!type.endsWith(DONE)) return undefined;
    const whole = WHOLE.map((name) => textOf(event[name])).find((text) => text !== "") ?? "";
    const kind = type.slice(0, -DONE.length);
    const known = this.#lengths.get(placeOf(event, kind)) ?? 0;
    return this.#add(event, kind, whole.slice(known));
  }

  #add(event: Fields, kind: string, text: string): AddedText | undefined {
    if (text === "") return undefined;
    const place = placeOf(event, kind);
    this.#lengths.set(place, (this.#lengths.get(place) ?? 0) + text.length);
    if (this.#lengths.size > MAX_TEXTS) throw emptyAnswer("The provider's answer has too many parts.");
    const summary = `${indexOf(event.output_index)} summary`;
    if (kind === REASONING) this.#reasoned.add(summary);
    const own = kind === SUMMARY ? summary : place;
    const isCounted = !AUDIO.test(kind) && !(kind === SUMMARY && this.#reasoned.has(summary));
    return {
      text,
      channel: isCounted ? own : undefined,
      replaces: kind === REASONING ? summary : undefined,
    };
  }
}

function placeOf({ output_index: item, content_index: part, summary_index: summary }: Fields, kind: string) {
  return [kind.slice(0, MAX_KIND), ...[item, part, summary].map(indexOf)].join(" ");
}

function indexOf(index: unknown): number | string {
  return typeof index === "number" ? index : "";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
