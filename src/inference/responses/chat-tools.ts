import { isText } from "../body/elided-text.ts";
import { invalidField } from "../body/invalid-field.ts";
import { isFields, joinedTexts, shortTextOf } from "./content-parts.ts";
import type { ChatNames } from "./function-names.ts";
import type { CallableTool, NamespaceTool, Tool } from "./response-tools.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A tool, and its namespace if it is in one. */
type Offered = { readonly tool: CallableTool; readonly namespace?: NamespaceTool };

/**
 * The members `tools` and `tool_choice` of a chat, in which functions of namespaces have `names`. A choice among some of
 * the tools offers only these; a choice of a tool that a chat does not have is that of the client.
 */
export function chatTools(tools: readonly Tool[], choice: unknown, names: ChatNames): Fields {
  const { offered, mode } = readChoice(tools.flatMap(offeredBy), choice, names);
  if (offered.length === 0) return {};
  return { tools: chatForms(offered, names), ...(mode !== undefined && { tool_choice: mode }) };
}

function offeredBy(tool: Tool): readonly Offered[] {
  return tool.type === "namespace"
    ? tool.tools.map((grouped) => ({ tool: grouped, namespace: tool }))
    : [{ tool }];
}

type Choice = { readonly offered: readonly Offered[]; readonly mode?: string | Fields };

function readChoice(offered: readonly Offered[], choice: unknown, names: ChatNames): Choice {
  if (choice == null) return { offered };
  if (choice === "none" || choice === "auto") return { offered, mode: choice };
  if (choice === "required") {
    if (offered.length === 0) throw invalidField("tool_choice", "must not be required without tools");
    return { offered, mode: choice };
  }
  if (!isFields(choice)) throw invalidField("tool_choice", "must be none, auto, required or an object");
  if (choice.type === "function") {
    const [chosen] = chosenOf(choice, offered, "tool_choice");
    return { offered, mode: { type: "function", function: { name: chosen && chatName(chosen, names) } } };
  }
  if (choice.type === "allowed_tools") return readAllowed(offered, choice);
  if (!offered.some(({ tool: { type } }) => type !== "function" && type === choice.type))
    throw invalidField("tool_choice.type", "must be function or allowed_tools");
  chosenOf(choice, offered, "tool_choice");
  return { offered, mode: choice };
}

function readAllowed(offered: readonly Offered[], { mode, tools: allowed }: Fields): Choice {
  if (mode !== "auto" && mode !== "required")
    throw invalidField("tool_choice.mode", "must be auto or required");
  if (!Array.isArray(allowed) || allowed.length === 0)
    throw invalidField("tool_choice.tools", "must be a list of at least one tool");
  const chosen = new Set(
    allowed.flatMap((tool, at) => chosenOf(tool, offered, `tool_choice.tools.${at}`, true)),
  );
  return { offered: offered.filter((tool) => chosen.has(tool)), mode };
}

/**
 * The tools that are meant, which must be offered: by their name, if tools of that type have names, and by their
 * namespace, if the choice has one. A name without a namespace means a function outside of namespaces first. With
 * `mayGroup`, a namespace means all that is in it.
 */
function chosenOf(
  chosen: unknown,
  offered: readonly Offered[],
  path: string,
  mayGroup = false,
): readonly Offered[] {
  if (!isFields(chosen)) throw invalidField(path, "must be an object");
  const { type, namespace = null } = chosen;
  if (mayGroup && type === "namespace") {
    const group = shortTextOf(chosen, "name", path);
    return found(
      offered.filter((tool) => tool.namespace?.name === group),
      path,
    );
  }
  const ofType = offered.filter(({ tool }) => tool.type === type);
  if (type !== "function" && ofType.length === 0) throw invalidField(`${path}.type`, "must be function");
  const [first] = ofType;
  if (first && first.tool.name === undefined) return [first];
  const name = shortTextOf(chosen, "name", path);
  const named = ofType.filter(
    (tool) => tool.tool.name === name && (namespace === null || tool.namespace?.name === namespace),
  );
  return found(named, path)
    .toSorted((a, b) => Number(a.namespace !== undefined) - Number(b.namespace !== undefined))
    .slice(0, 1);
}

function found(tools: readonly Offered[], path: string): readonly Offered[] {
  if (tools.length === 0) throw invalidField(`${path}.name`, "not one of the tools");
  return tools;
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
