import { emptyAnswer } from "../../chat/whole-answer.ts";

type Fields = Readonly<Record<string, unknown>>;

const DELTA = ".delta";
const DONE = ".done";
/** The members of the last event of a text that have it whole. */
const WHOLE = ["text", "refusal", "arguments", "input", "transcript"] as const;
/** Types of events are shorter. */
const MAX_KIND = 100;
/** Maximum number of texts of an answer, such as its messages and the arguments of its tool calls. */
const MAX_TEXTS = 10_000;

/**
 * The texts that the events of a response say: each in deltas and then whole, and a few servers send one of them only.
 * Counts no character twice, in bounded memory.
 */
export class EventTexts {
  /** The length of the text so far, by the text's place. */
  readonly #lengths = new Map<string, number>();

  /** Whether no event had a text. */
  get isEmpty(): boolean {
    return this.#lengths.size === 0;
  }

  /** What an event adds to the texts, empty if nothing. Throws a `ProviderFailure` for too many texts. */
  added(event: Fields): string {
    const type = String(event.type);
    if (type.endsWith(DELTA)) return this.#add(event, type.slice(0, -DELTA.length), textOf(event.delta));
    if (!type.endsWith(DONE)) return "";
    const whole = WHOLE.map((name) => textOf(event[name])).find((text) => text !== "") ?? "";
    const kind = type.slice(0, -DONE.length);
    const known = this.#lengths.get(placeOf(event, kind)) ?? 0;
    return this.#add(event, kind, whole.slice(known));
  }

  #add(event: Fields, kind: string, text: string): string {
    if (text === "") return "";
    const place = placeOf(event, kind);
    this.#lengths.set(place, (this.#lengths.get(place) ?? 0) + text.length);
    if (this.#lengths.size > MAX_TEXTS) throw emptyAnswer("The provider's answer has too many parts.");
    return text;
  }
}

function placeOf({ output_index: item, content_index: part, summary_index: summary }: Fields, kind: string) {
  const indexes = [item, part, summary].map((index) => (typeof index === "number" ? index : ""));
  return [kind.slice(0, MAX_KIND), ...indexes].join(" ");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
