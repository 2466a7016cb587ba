import type { Fields } from "../body/fields.ts";
import type { FunctionNames } from "./function-names.ts";
import { isNextCall } from "./next-call.ts";
import type { CallPart, Said } from "./said.ts";

type Status = "in_progress" | "completed" | "incomplete";

/** An event of a stream, apart from its number. */
export type OutputEvent = Fields & { readonly type: string };

/** The parts of text: the prefix of their events, and the member that has the text. */
const PARTS = {
  output_text: {
    events: "response.output_text",
    part: "response.content_part",
    index: "content_index",
    text: "text",
  },
  refusal: {
    events: "response.refusal",
    part: "response.content_part",
    index: "content_index",
    text: "refusal",
  },
  reasoning_text: {
    events: "response.reasoning_text",
    part: "response.content_part",
    index: "content_index",
    text: "text",
  },
  summary_text: {
    events: "response.reasoning_summary_text",
    part: "response.reasoning_summary_part",
    index: "summary_index",
    text: "text",
  },
} as const;

type PartType = keyof typeof PARTS;
type Part = { readonly type: PartType; readonly index: number; text: string; logprobs: unknown[] };
type Item = { readonly id: string; readonly index: number; isDone: boolean } & (
  | { readonly kind: "reasoning" | "message"; readonly parts: Part[] }
  | {
      readonly kind: "function_call";
      readonly callId: string;
      /** The id that the chat gave: `callId`, unless it came after the call had begun. */
      givenId: string | undefined;
      /** The name in the chat; empty until it is given. */
      givenName: string;
      name: string;
      namespace?: string;
      arguments: string;
    }
);
type TextItem = Extract<Item, { kind: "reasoning" | "message" }>;
type CallItem = Extract<Item, { kind: "function_call" }>;

const ARGUMENTS = "response.function_call_arguments";
/** Arguments of a call without parameters: clients parse them as JSON, and some providers leave them out. */
export const NO_ARGUMENTS = "{}";

/** Assumed length of an item, of a part or of a token with its probability, besides its texts. */
const FRAME = 128;
/** Log probabilities are repeated at the end of a stream up to this length. */
const MAX_LOGPROBS = 1_048_576;

/**
 * The output of a response, built from what a chat says: reasoning, messages and function calls, in the order in which
 * they began. `take` returns the events of a stream that show the same.
 */
export class OutputItems {
  readonly #suffix: string;
  readonly #reasoning: PartType;
  readonly #functions: FunctionNames;
  readonly #items: Item[] = [];
  readonly #calls = new Map<number, CallItem>();
  #open: TextItem | undefined;
  #length = 0;
  #logprobsLength = 0;

  /** `suffix` makes the ids of its items unique; `functions` are those whose names in the chat are not the client's. */
  constructor({
    suffix,
    hasSummary,
    functions,
  }: { readonly suffix: string; readonly hasSummary: boolean; readonly functions: FunctionNames }) {
    this.#suffix = suffix;
    this.#functions = functions;
    this.#reasoning = hasSummary ? "summary_text" : "reasoning_text";
  }

  /** About the number of characters of all items as JSON. */
  get length(): number {
    return this.#length;
  }

  /** Adds what the next delta says. */
  take({ reasoning, text, logprobs, refusal, calls }: Said): readonly OutputEvent[] {
    return [
      ...this.#append("reasoning", this.#reasoning, reasoning, []),
      ...this.#append("message", "output_text", text, logprobs),
      ...this.#append("message", "refusal", refusal, []),
      ...calls.flatMap((call) => this.#takeCall(call)),
    ];
  }

  /** The events that end what is still open. The last item of an answer that was cut is incomplete. */
  endings(isCut: boolean): readonly OutputEvent[] {
    return this.#items.flatMap((item) => (item.isDone ? [] : doneEvents(item, this.#endStatus(item, isCut))));
  }

  /** All items, as they are after `endings`. */
  shown(isCut: boolean): readonly Fields[] {
    return this.#items.map((item) => itemOf(item, this.#endStatus(item, isCut)));
  }

  #endStatus({ index }: Item, isCut: boolean): Status {
    return isCut && index === this.#items.length - 1 ? "incomplete" : "completed";
  }

  #append(
    kind: TextItem["kind"],
    type: PartType,
    text: string,
    logprobs: readonly unknown[],
  ): readonly OutputEvent[] {
    if (text === "") return [];
    const events: OutputEvent[] = [];
    let item = this.#open;
    if (item?.kind !== kind) {
      events.push(...this.#endText());
      item = { kind, ...this.#newItem(kind === "message" ? "msg" : "rs"), parts: [] };
      this.#begin(item, events);
      this.#open = item;
    }
    let part = item.parts.at(-1);
    if (part?.type !== type) {
      if (part) events.push(...partDone(item, part));
      part = { type, index: item.parts.length, text: "", logprobs: [] };
      item.parts.push(part);
      this.#length += FRAME;
      events.push(partEvent(`${PARTS[type].part}.added`, item, part, { part: partOf(part) }));
    }
    part.text += text;
    this.#length += text.length;
    this.#keepLogprobs(part, logprobs);
    events.push(
      partEvent(`${PARTS[type].events}.delta`, item, part, {
        delta: text,
        ...(type === "output_text" && { logprobs }),
      }),
    );
    return events;
  }

  #keepLogprobs(part: Part, logprobs: readonly unknown[]): void {
    if (logprobs.length === 0) return;
    for (const token of logprobs)
      this.#logprobsLength += FRAME * (1 + ((token as Fields).top_logprobs as readonly unknown[]).length);
    if (this.#logprobsLength <= MAX_LOGPROBS) part.logprobs.push(...logprobs);
    else part.logprobs = [];
  }

  #takeCall(said: CallPart): readonly OutputEvent[] {
    const { index, id, name, arguments: added } = said;
    const events: OutputEvent[] = [];
    let call = this.#calls.get(index);
    // Some servers give the id after the name, others give every call the same index.
    if (call) call.givenId ??= id;
    if (!call || (id !== undefined && id !== call.givenId) || isNextCall(said, call)) {
      events.push(...this.#endText());
      const item = this.#newItem("fc");
      call = {
        kind: "function_call",
        ...item,
        callId: id ?? `call_${item.id}`,
        givenId: id,
        givenName: name ?? "",
        ...this.#named(name ?? ""),
        arguments: "",
      };
      this.#calls.set(index, call);
      this.#length += call.callId.length + (name?.length ?? 0);
      this.#begin(call, events);
    }
    if (call.givenName === "" && name !== undefined) {
      Object.assign(call, this.#named(name), { givenName: name });
      this.#length += name.length;
    }
    if (added === "") return events;
    call.arguments += added;
    this.#length += added.length;
    events.push({
      type: `${ARGUMENTS}.delta`,
      item_id: call.id,
      output_index: call.index,
      delta: added,
    });
    return events;
  }

  /** A function as the client named it. */
  #named(name: string): Pick<CallItem, "name" | "namespace"> {
    return this.#functions.get(name) ?? { name };
  }

  #newItem(prefix: string) {
    const index = this.#items.length;
    return { id: `${prefix}_${this.#suffix}${index}`, index, isDone: false };
  }

  #begin(item: Item, events: OutputEvent[]): void {
    this.#items.push(item);
    this.#length += FRAME;
    events.push({
      type: "response.output_item.added",
      output_index: item.index,
      item: itemOf(item, "in_progress"),
    });
  }

  /** Ends the open reasoning or message. Function calls stay open, because their deltas may alternate. */
  #endText(): readonly OutputEvent[] {
    const item = this.#open;
    if (!item) return [];
    item.isDone = true;
    this.#open = undefined;
    return doneEvents(item, "completed");
  }
}

/** The most that a delta adds to the length of the items. */
export function maxLengthOf({ reasoning, text, refusal, calls }: Said): number {
  const texts = reasoning.length + text.length + refusal.length;
  return calls.reduce((sum, call) => sum + FRAME + call.arguments.length, texts + 2 * FRAME);
}

function doneEvents(item: Item, status: Status): readonly OutputEvent[] {
  const end = { type: "response.output_item.done", output_index: item.index, item: itemOf(item, status) };
  if (item.kind === "function_call") {
    const { id, index, name } = item;
    const [place, given] = [{ item_id: id, output_index: index }, argumentsOf(item, status)];
    const isAdded = given !== item.arguments;
    return [
      ...(isAdded ? [{ type: `${ARGUMENTS}.delta`, ...place, delta: given }] : []),
      { type: `${ARGUMENTS}.done`, ...place, name, arguments: given },
      end,
    ];
  }
  const part = item.parts.at(-1);
  return [...(part ? partDone(item, part) : []), end];
}

function partDone(item: TextItem, part: Part): readonly OutputEvent[] {
  const { type, text, logprobs } = part;
  const { events, part: container, text: member } = PARTS[type];
  return [
    partEvent(`${events}.done`, item, part, { [member]: text, ...(type === "output_text" && { logprobs }) }),
    partEvent(`${container}.done`, item, part, { part: partOf(part) }),
  ];
}

function partEvent(type: string, item: TextItem, part: Part, more: Fields): OutputEvent {
  const position = { [PARTS[part.type].index]: part.index };
  return { type, item_id: item.id, output_index: item.index, ...position, ...more };
}

function partOf({ type, text, logprobs }: Part): Fields {
  return type === "output_text"
    ? { type, text, annotations: [], logprobs }
    : { type, [PARTS[type].text]: text };
}

function itemOf(item: Item, status: Status): Fields {
  const { kind: type, id } = item;
  if (item.kind === "function_call") {
    const { callId: call_id, name, namespace } = item;
    const called = { name, ...(namespace !== undefined && { namespace }) };
    return { id, type, status, call_id, ...called, arguments: argumentsOf(item, status) };
  }
  const content = item.parts.filter((part) => part.type !== "summary_text").map(partOf);
  if (item.kind === "message") return { id, type, status, role: "assistant", content };
  const summary = item.parts.filter((part) => part.type === "summary_text").map(partOf);
  return { id, type, status, summary, content };
}

/** The arguments of a call; a call that is not complete has those that have arrived. */
function argumentsOf({ arguments: given }: CallItem, status: Status): string {
  return given === "" && status === "completed" ? NO_ARGUMENTS : given;
}
