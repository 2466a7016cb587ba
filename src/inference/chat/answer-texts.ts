/** Calls beyond this number are counted without their ids and names, which would be held until the answer ends. */
const MAX_CALLS = 10_000;
/** A longer id of a call is not an id: it neither identifies the call nor counts. */
const MAX_ID = 256;
/** Assumed length of a text besides its characters. */
const FRAME = 64;

/** A call of a tool, whole or a part of it: a part continues the call of the same place, unless its id is another. */
export type CallPart = { readonly id?: unknown; readonly name?: unknown; readonly input: string };

/**
 * The countable texts of an answer, each by what it belongs to. Deltas add to a text, so that an answer has the same
 * texts however it is cut, and whether it is streamed or whole. The id and the name of a call count once, because some
 * providers repeat them in each delta.
 */
export class AnswerTexts {
  readonly #texts = new Map<string, string>();
  readonly #calls = new Map<string, { readonly channel: string; id: string; isNamed: boolean }>();
  #callCount = 0;
  #length = 0;

  /** About the memory that the texts take, in characters. */
  get length(): number {
    return this.#length;
  }

  /** Adds to the text of a channel. */
  add(channel: string, text: string): void {
    if (text === "") return;
    const known = this.#texts.get(channel);
    this.#texts.set(channel, known === undefined ? text : known + text);
    this.#length += text.length + (known === undefined ? FRAME : 0);
  }

  /** Adds a part of the call at a place. */
  addCall(place: string, { id: givenId, name, input }: CallPart): void {
    const id = typeof givenId === "string" && givenId.length <= MAX_ID ? givenId : "";
    let call = this.#calls.get(place);
    // Some servers give every call the same index.
    const isNew = !call || (id !== "" && call.id !== "" && id !== call.id);
    if (isNew && this.#callCount < MAX_CALLS) {
      call = { channel: `${place} call ${this.#callCount++}`, id: "", isNamed: false };
      this.#calls.set(place, call);
    }
    if (call && call.id === "" && id !== "") {
      call.id = id;
      this.add(`${call.channel} id`, id);
    }
    if (call && !call.isNamed && typeof name === "string" && name !== "") {
      call.isNamed = true;
      this.add(`${call.channel} name`, name);
    }
    this.add(call?.channel ?? "calls", input);
  }

  /** Removes the text of a channel, because another one takes its place. */
  drop(channel: string): void {
    const known = this.#texts.get(channel);
    if (known === undefined) return;
    this.#texts.delete(channel);
    this.#length -= known.length + FRAME;
  }

  /** Removes all texts and returns them. What belongs together of what is added later is still known. */
  take(): readonly string[] {
    const texts = [...this.#texts.values()];
    this.#texts.clear();
    this.#length = 0;
    return texts;
  }
}
