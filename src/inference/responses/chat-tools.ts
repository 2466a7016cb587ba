import type { AppError } from "../../kernel/errors.ts";
import { isText } from "../body/elided-text.ts";
import type { Fields } from "../body/fields.ts";
import { invalidField } from "../body/invalid-field.ts";
import { isFields, joinedTexts, shortTextOf } from "./content-parts.ts";
import type { ChatNames } from "./function-names.ts";
import type { NamespaceTool, Tool } from "./response-tools.ts";
import { type Offered, ToolIndex } from "./tool-index.ts";

/**
 * The members `tools` and `tool_choice` of a chat, in which functions of namespaces have `names`. A choice among some of
 * the tools offers only these; a choice of a tool that a chat does not have is that of the client.
 */
export function chatTools(tools: readonly Tool[], choice: unknown, names: ChatNames): Fields {
  const { offered, mode } = readChoice(new ToolIndex(tools), choice, names);
  if (offered.length === 0) return {};
  return { tools: chatForms(offered, names), ...(mode !== undefined && { tool_choice: mode }) };
}

type Choice = { readonly offered: readonly Offered[]; readonly mode?: string | Fields };

function readChoice(index: ToolIndex, choice: unknown, names: ChatNames): Choice {
  const offered = index.all;
  if (choice == null) return { offered };
  if (choice === "none" || choice === "auto") return { offered, mode: choice };
  if (choice === "required") {
    if (offered.length === 0) throw invalidField("tool_choice", "must not be required without tools");
    return { offered, mode: choice };
  }
  if (!isFields(choice)) throw invalidField("tool_choice", "must be none, auto, required or an object");
  if (choice.type === "function") {
    const chosen = chosenTool(choice, index, "tool_choice");
    return { offered, mode: { type: "function", function: { name: chatName(chosen, names) } } };
  }
  if (choice.type === "allowed_tools") return readAllowed(index, choice);
  if (index.firstOf(choice.type) === undefined)
    throw invalidField("tool_choice.type", "must be function or allowed_tools");
  chosenTool(choice, index, "tool_choice");
  return { offered, mode: choice };
}

function readAllowed(index: ToolIndex, { mode, tools: allowed }: Fields): Choice {
  if (mode !== "auto" && mode !== "required")
    throw invalidField("tool_choice.mode", "must be auto or required");
  if (!Array.isArray(allowed) || allowed.length === 0)
    throw invalidField("tool_choice.tools", "must be a list of at least one tool");
  const chosen = new Set<Offered>();
  const groups = new Set<unknown>();
  for (const [at, tool] of allowed.entries()) {
    const path = `tool_choice.tools.${at}`;
    if (!isFields(tool)) throw invalidField(path, "must be an object");
    if (tool.type !== "namespace") chosen.add(chosenTool(tool, index, path));
    else if (!groups.has(tool.name)) {
      for (const grouped of chosenGroup(tool, index, path)) chosen.add(grouped);
      groups.add(tool.name);
    }
  }
  return { offered: index.all.filter((tool) => chosen.has(tool)), mode };
}

/**
 * The tool that is meant, which must be offered: by its name, if tools of that type have names, and by its namespace, if
 * the choice has one. A name without a namespace means a tool outside of namespaces first.
 */
function chosenTool(chosen: Fields, index: ToolIndex, path: string): Offered {
  const { type, namespace = null } = chosen;
  const first = index.firstOf(type);
  if (type !== "function" && first === undefined) throw invalidField(`${path}.type`, "must be function");
  if (first && first.tool.name === undefined) return first;
  const found = index.find(type, shortTextOf(chosen, "name", path), namespace);
  if (found === undefined) throw unknownName(path);
  return found;
}

/** All tools of the namespace that is meant. */
function chosenGroup(chosen: Fields, index: ToolIndex, path: string): readonly Offered[] {
  const group = index.group(shortTextOf(chosen, "name", path));
  if (group.length === 0) throw unknownName(path);
  return group;
}

function unknownName(path: string): AppError {
  return invalidField(`${path}.name`, "not one of the tools");
}

/** The tools of a chat. The first of a namespace also has the namespace's description, which has no other place. */
function chatForms(offered: readonly Offered[], names: ChatNames): readonly Fields[] {
  const described = new Set<NamespaceTool>();
  return offered.map((one) => {
    const { tool, namespace } = one;
    if (tool.type !== "function") return tool;
    const isFirst = namespace !== undefined && !described.has(namespace);
    if (namespace) described.add(namespace);
    const texts = [isFirst ? namespace.description : null, tool.description].filter(isText);
    const { parameters, strict } = tool;
    const description = texts.length === 0 ? null : joinedTexts(texts);
    const members = { name: chatName(one, names), description, parameters, strict };
    const given = Object.entries(members).filter(([, value]) => value !== null);
    return { type: "function", function: Object.fromEntries(given) };
  });
}

function chatName({ tool, namespace }: Offered, names: ChatNames): string {
  return names.of(String(tool.name), namespace?.name);
}
