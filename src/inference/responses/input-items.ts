import { type ElidedText, isText } from "../body/elided-text.ts";
import { chatContent, isFields, shortTextOf, textOf } from "./content-parts.ts";
import { invalidField } from "./invalid-field.ts";

type Fields = Readonly<Record<string, unknown>>;
type Text = string | ElidedText;

/** The roles of a message, with those of a chat message. Few templates of models know `developer`. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["developer", "system"],
]);

/** What an assistant said in one turn, which is one chat message: its items arrive one by one. */
type Turn = { reasoning: Text[]; content?: unknown; toolCalls: Fields[] };

/**
 * The chat messages of a request for a response: its `instructions`, then its `input`, a text or valid items. The
 * consecutive items of one turn (reasoning, message, function calls) become one message. Throws `invalid_body` naming
 * the field.
 */
export function chatMessages(input: unknown, instructions: unknown): readonly Fields[] {
  const first = instructions == null ? [] : [{ role: "system", content: instructions }];
  if (isText(input)) return [...first, { role: "user", content: input }];
  const reader = new ItemReader();
  for (const [at, item] of (input as readonly unknown[]).entries()) reader.read(item, `input.${at}`);
  return [...first, ...reader.end()];
}

class ItemReader {
  readonly #messages: Fields[] = [];
  #turn: Turn | undefined;

  read(item: unknown, path: string): void {
    if (!isFields(item)) throw invalidField(path, "must be an object");
    const { type = "message" } = item;
    if (type === "message") this.#readMessage(item, path);
    else if (type === "reasoning") this.#readReasoning(item, path);
    else if (type === "function_call") this.#readCall(item, path);
    else if (type === "function_call_output") this.#readCallOutput(item, path);
    else if (type === "item_reference")
      throw invalidField(path, "items are not stored here: send the item itself, or use store: false");
    else throw invalidField(`${path}.type`, isText(type) ? "not supported" : "must be a string");
  }

  end(): readonly Fields[] {
    this.#endTurn();
    return this.#messages;
  }

  #add(message: Fields): void {
    this.#endTurn();
    this.#messages.push(message);
  }

  #readMessage(item: Fields, path: string): void {
    const role = ROLES.get(item.role);
    if (role === undefined)
      throw invalidField(`${path}.role`, `must be one of ${[...ROLES.keys()].join(", ")}`);
    const content = chatContent(item.content, `${path}.content`);
    if (role === "assistant") this.#turnBefore("content").content = content;
    else this.#add({ role, content });
  }

  /** Its text, which models need again while they call tools; encrypted reasoning is only readable by its author. */
  #readReasoning({ content, summary }: Fields, path: string): void {
    const texts = [
      ...partTexts(content, `${path}.content`),
      ...partTexts(content == null || (content as []).length === 0 ? summary : [], `${path}.summary`),
    ];
    this.#turnBefore("reasoning").reasoning.push(...texts);
  }

  #readCall(item: Fields, path: string): void {
    const call = {
      id: shortTextOf(item, "call_id", path),
      type: "function",
      function: { name: shortTextOf(item, "name", path), arguments: textOf(item, "arguments", path) },
    };
    this.#turnBefore("calls").toolCalls.push(call);
  }

  #readCallOutput(item: Fields, path: string): void {
    const content = chatContent(item.output, `${path}.output`);
    this.#add({ role: "tool", tool_call_id: shortTextOf(item, "call_id", path), content });
  }

  /** The current turn, if this kind of item may still belong to it, else a new one. */
  #turnBefore(kind: "reasoning" | "content" | "calls"): Turn {
    const { content, toolCalls = [] } = this.#turn ?? {};
    if (kind !== "calls" && (content !== undefined || toolCalls.length > 0)) this.#endTurn();
    this.#turn ??= { reasoning: [], toolCalls: [] };
    return this.#turn;
  }

  #endTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (!turn) return;
    const { reasoning, content, toolCalls } = turn;
    if (content === undefined && toolCalls.length === 0) return;
    this.#messages.push({
      role: "assistant",
      content: content ?? null,
      ...(reasoning.length > 0 && { reasoning_content: joined(reasoning) }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    });
  }
}

function partTexts(parts: unknown, path: string): readonly Text[] {
  if (parts == null) return [];
  if (!Array.isArray(parts)) throw invalidField(path, "must be a list");
  return parts.map((part, at) => {
    if (!isFields(part)) throw invalidField(`${path}.${at}`, "must be an object");
    return textOf(part, "text", `${path}.${at}`);
  });
}

/** One text; a long one is its placeholder, which is replaced when the body is written. */
function joined(texts: readonly Text[]): string {
  return texts.map((text) => (typeof text === "string" ? text : text.toJSON())).join("\n\n");
}
