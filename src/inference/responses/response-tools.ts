import { isText } from "../body/elided-text.ts";
import { unsupportedTool } from "../body/hosted-tools.ts";
import { invalidField } from "../body/invalid-field.ts";
import { isFields, shortTextOf } from "./content-parts.ts";
import type { Unsupported } from "./unsupported.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A function that the model may call, as the response repeats it. */
export type FunctionTool = Fields & { readonly type: "function"; readonly name: string };

/** A tool that the client runs, and which a chat does not have, as the client sent it. */
type OtherTool = Fields & { readonly type: "custom" | "local_shell" | "apply_patch" };
export type Tool = FunctionTool | OtherTool;

const OTHER_TOOLS: ReadonlySet<unknown> = new Set(["custom", "local_shell", "apply_patch"]);

/**
 * The tools of a request; those that a chat does not have are added to `unsupported`. Throws `invalid_body` for one that
 * the client does not run: it has its own price, and works on what the account of the operator has with the provider.
 */
export function readTools(tools: readonly unknown[], unsupported: Unsupported): readonly Tool[] {
  return tools.map((tool, at) => {
    const path = `tools.${at}`;
    if (!isFields(tool)) throw invalidField(path, "must be an object");
    const { type, description, parameters, strict } = tool;
    if (OTHER_TOOLS.has(type)) {
      if (type === "custom") shortTextOf(tool, "name", path);
      unsupported.add(invalidField(`${path}.type`, unsupportedTool(type)));
      return tool as OtherTool;
    }
    if (type !== "function")
      throw invalidField(`${path}.type`, isText(type) ? unsupportedTool(type) : "must be a string");
    const name = shortTextOf(tool, "name", path);
    if (description != null && !isText(description))
      throw invalidField(`${path}.description`, "must be a string");
    if (parameters != null && !isFields(parameters))
      throw invalidField(`${path}.parameters`, "must be an object");
    if (strict != null && typeof strict !== "boolean")
      throw invalidField(`${path}.strict`, "must be a boolean");
    return {
      type,
      name,
      description: description ?? null,
      parameters: parameters ?? null,
      strict: strict ?? null,
    };
  });
}

/**
 * The members `tools` and `tool_choice` of a chat. A choice among some of the tools offers only these; a choice of a tool
 * that a chat does not have is that of the client.
 */
export function chatTools(tools: readonly Tool[], choice: unknown): Fields {
  const { offered, mode } = readChoice(tools, choice);
  if (offered.length === 0) return {};
  return { tools: offered.map(chatTool), ...(mode !== undefined && { tool_choice: mode }) };
}

type Choice = { readonly offered: readonly Tool[]; readonly mode?: string | Fields };

function readChoice(tools: readonly Tool[], choice: unknown): Choice {
  if (choice == null) return { offered: tools };
  if (choice === "none" || choice === "auto") return { offered: tools, mode: choice };
  if (choice === "required") {
    if (tools.length === 0) throw invalidField("tool_choice", "must not be required without tools");
    return { offered: tools, mode: choice };
  }
  if (!isFields(choice)) throw invalidField("tool_choice", "must be none, auto, required or an object");
  if (choice.type === "function") {
    const { name } = chosenOf(choice, tools, "tool_choice");
    return { offered: tools, mode: { type: "function", function: { name } } };
  }
  if (choice.type === "allowed_tools") return readAllowed(tools, choice);
  if (!tools.some(({ type }) => type !== "function" && type === choice.type))
    throw invalidField("tool_choice.type", "must be function or allowed_tools");
  chosenOf(choice, tools, "tool_choice");
  return { offered: tools, mode: choice };
}

function readAllowed(tools: readonly Tool[], { mode, tools: allowed }: Fields): Choice {
  if (mode !== "auto" && mode !== "required")
    throw invalidField("tool_choice.mode", "must be auto or required");
  if (!Array.isArray(allowed) || allowed.length === 0)
    throw invalidField("tool_choice.tools", "must be a list of at least one tool");
  const chosen = new Set(allowed.map((tool, at) => chosenOf(tool, tools, `tool_choice.tools.${at}`)));
  return { offered: tools.filter((tool) => chosen.has(tool)), mode };
}

/** The tool that is meant, which must be one of `tools`: by its name, if tools of its type have names. */
function chosenOf(chosen: unknown, tools: readonly Tool[], path: string): Tool {
  if (!isFields(chosen)) throw invalidField(path, "must be an object");
  const ofType = tools.filter(({ type }) => type === chosen.type);
  if (chosen.type !== "function" && ofType.length === 0)
    throw invalidField(`${path}.type`, "must be function");
  const [first] = ofType;
  if (first && first.name === undefined) return first;
  const name = shortTextOf(chosen, "name", path);
  const found = ofType.find((tool) => tool.name === name);
  if (!found) throw invalidField(`${path}.name`, "not one of the tools");
  return found;
}

function chatTool(tool: Tool): Fields {
  if (tool.type !== "function") return tool;
  const { name, description, parameters, strict } = tool;
  const members = { name, description, parameters, strict };
  const given = Object.entries(members).filter(([, value]) => value !== null);
  return { type: "function", function: Object.fromEntries(given) };
}
