import { type ElidedText, isText } from "../body/elided-text.ts";
import { PART_MEMBERS, refuseOtherCase } from "../body/field-case.ts";
import type { Fields } from "../body/fields.ts";
import { invalidField } from "../body/invalid-field.ts";
import { chatContent, isFields, joinedTexts, refuseFileId, shortTextOf, textOf } from "./content-parts.ts";
import type { ChatNames } from "./function-names.ts";
import { NO_ARGUMENTS } from "./output-items.ts";
import { readTools } from "./response-tools.ts";
import { notSupported, type Unsupported } from "./unsupported.ts";

type Text = string | ElidedText;
type Content = Text | readonly Fields[];

/** The roles of a message, with those of a chat message. Few templates of models know `developer`. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["developer", "system"],
]);

/** Items that only providers with the format of responses have: of tools that the client runs, and of compaction. */
const OTHER_ITEMS: ReadonlySet<unknown> = new Set([
  ...["custom_tool_call", "custom_tool_call_output"],
  ...["local_shell_call", "local_shell_call_output"],
  ...["apply_patch_call", "apply_patch_call_output"],
  ...["tool_search_call", "tool_search_output"],
  ...["compaction", "compaction_trigger"],
]);

/** What an assistant said in one turn, which is one chat message: its items arrive one by one. */
type Turn = {
  readonly reasoning: Text[];
  readonly contents: Content[];
  readonly toolCalls: Fields[];
};

/**
 * The chat messages of a request for a response: its `instructions`, then its `input`, a text or valid items. The
 * consecutive items of one turn (reasoning, message, function calls) become one message. What a chat cannot express is
 * added to `unsupported`, and stays as it is. Functions of namespaces have `names`. Throws `invalid_body` naming the field.
 */
export function chatMessages(
  input: unknown,
  instructions: unknown,
  { names, unsupported }: { readonly names: ChatNames; readonly unsupported: Unsupported },
): readonly Fields[] {
  const first = instructions == null ? [] : [{ role: "system", content: instructions }];
  if (isText(input)) return [...first, { role: "user", content: input }];
  const reader = new ItemReader(names, unsupported);
  for (const [at, item] of (input as readonly unknown[]).entries()) reader.read(item, `input.${at}`);
  return [...first, ...reader.end()];
}

class ItemReader {
  readonly #names: ChatNames;
  readonly #unsupported: Unsupported;
  readonly #messages: Fields[] = [];
  #turn: Turn | undefined;

  constructor(names: ChatNames, unsupported: Unsupported) {
    this.#names = names;
    this.#unsupported = unsupported;
  }

  read(item: unknown, path: string): void {
    if (!isFields(item)) throw invalidField(path, "must be an object");
    refuseOtherCase(item, (name) => PART_MEMBERS.has(name), path);
    const { type = "message" } = item;
    if (type === "message") this.#readMessage(item, path);
    else if (type === "reasoning") this.#readReasoning(item, path);
    else if (type === "function_call") this.#readCall(item, path);
    else if (type === "function_call_output") this.#readCallOutput(item, path);
    else if (type === "item_reference")
      throw invalidField(path, "items are not stored here: send the item itself, or use store: false");
    else if (OTHER_ITEMS.has(type)) this.#readOther(item, path);
    else throw invalidField(`${path}.type`, notSupported("items", type));
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
    const content = chatContent(item.content, `${path}.content`, this.#unsupported);
    if (role === "assistant") this.#turnBefore("content").contents.push(content);
    else this.#add({ role, content });
  }

  /** Its text, which models need again while they call tools; encrypted reasoning is only readable by its author. */
  #readReasoning({ content, summary, encrypted_content: encrypted }: Fields, path: string): void {
    if (encrypted != null && !isText(encrypted))
      throw invalidField(`${path}.encrypted_content`, "must be a string");
    const [texts, summaries] = [partTexts(content, `${path}.content`), partTexts(summary, `${path}.summary`)];
    const hasContent = texts.length > 0;
    this.#turnBefore("reasoning").reasoning.push(...(hasContent ? texts : summaries));
    this.#unsupported.hideEncrypted(encrypted?.length ?? 0);
    this.#unsupported.hide(hasContent ? lengthOf(summaries) : 0);
  }

  #readCall(item: Fields, path: string): void {
    const call = {
      id: shortTextOf(item, "call_id", path),
      type: "function",
      function: {
        name: this.#names.of(shortTextOf(item, "name", path), namespaceOf(item, path)),
        arguments: textOf(item, "arguments", path) || NO_ARGUMENTS,
      },
    };
    this.#turnBefore("calls").toolCalls.push(call);
  }

  /**
   * A search loads tools, and any tool may have an output of parts: both are subject to the same rules as the tools and
   * parts of a chat.
   */
  #readOther(item: Fields, path: string): void {
    const { output, ...rest } = item;
    const { type, tools } = rest;
    this.#unsupported.add(`${path}.type`, notSupported("items", type));
    if (type === "tool_search_output") {
      if (!Array.isArray(tools)) throw invalidField(`${path}.tools`, "must be a list");
      readTools(tools, this.#unsupported, `${path}.tools`);
    }
    const content = output == null ? undefined : chatContent(output, `${path}.output`, this.#unsupported);
    if (type === "compaction") this.#readCompaction(item, path);
    else if (content === undefined) this.#add(item);
    else this.#add({ ...rest, role: "tool", content });
  }

  /** Without its content, the provider would look its id up: all accounts share the router's account there. */
  #readCompaction(item: Fields, path: string): void {
    const { length } = textOf(item, "encrypted_content", path);
    if (length === 0) throw invalidField(`${path}.encrypted_content`, "must not be empty");
    this.#unsupported.hideEncrypted(length);
  }

  #readCallOutput(item: Fields, path: string): void {
    const content = chatContent(item.output, `${path}.output`, this.#unsupported);
    this.#add({ role: "tool", tool_call_id: shortTextOf(item, "call_id", path), content });
  }

  /**
   * The current turn, if this kind of item may still belong to it, else a new one. In a chat, the outputs of calls follow
   * the message with the calls at once, so that all that comes before them is of its turn.
   */
  #turnBefore(kind: "reasoning" | "content" | "calls"): Turn {
    const { contents = [], toolCalls = [] } = this.#turn ?? {};
    if (kind !== "calls" && contents.length > 0 && toolCalls.length === 0) this.#endTurn();
    this.#turn ??= { reasoning: [], contents: [], toolCalls: [] };
    return this.#turn;
  }

  #endTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (!turn) return;
    const { reasoning, contents, toolCalls } = turn;
    if (contents.length === 0 && toolCalls.length === 0) {
      this.#unsupported.hide(lengthOf(reasoning));
      return;
    }
    this.#messages.push({
      role: "assistant",
      content: joinedContent(contents),
      ...(reasoning.length > 0 && { reasoning_content: joinedTexts(reasoning) }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    });
  }
}

/** The contents of the messages of one turn; null for none. */
function joinedContent(contents: readonly Content[]): Content | null {
  const [first = null] = contents;
  if (contents.length <= 1) return first;
  return contents.every(isText) ? joinedTexts(contents) : contents.flatMap(partsOf);
}

function partsOf(content: Content): readonly Fields[] {
  return isText(content) ? [{ type: "text", text: content }] : content;
}

function namespaceOf(item: Fields, path: string): string | undefined {
  return item.namespace == null ? undefined : shortTextOf(item, "namespace", path);
}

function partTexts(parts: unknown, path: string): readonly Text[] {
  if (parts == null) return [];
  if (!Array.isArray(parts)) throw invalidField(path, "must be a list");
  return parts.map((part, at) => {
    if (!isFields(part)) throw invalidField(`${path}.${at}`, "must be an object");
    refuseFileId(part, `${path}.${at}`, "the text");
    return textOf(part, "text", `${path}.${at}`);
  });
}

function lengthOf(texts: readonly Text[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}
