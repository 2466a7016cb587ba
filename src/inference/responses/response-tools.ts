import { isText } from "../body/elided-text.ts";
import { isFields, shortTextOf } from "./content-parts.ts";
import { invalidField } from "./invalid-field.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A function that the model may call, as the response repeats it. */
export type FunctionTool = Fields & { readonly type: "function"; readonly name: string };

/**
 * The tools of a request. Throws `invalid_body` for one that is not a function: hosted tools run at OpenAI, and
 * providers of chats have none.
 */
export function readTools(tools: readonly unknown[]): readonly FunctionTool[] {
  return tools.map((tool, at) => {
    const path = `tools.${at}`;
    if (!isFields(tool)) throw invalidField(path, "must be an object");
    const { type, description, parameters, strict } = tool;
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

/** The members `tools` and `tool_choice` of a chat. A choice among some of the tools offers only these. */
export function chatTools(tools: readonly FunctionTool[], choice: unknown): Fields {
  const { offered, mode } = readChoice(tools, choice);
  if (offered.length === 0) return {};
  return { tools: offered.map(chatTool), ...(mode !== undefined && { tool_choice: mode }) };
}

type Choice = { readonly offered: readonly FunctionTool[]; readonly mode?: string | Fields };

function readChoice(tools: readonly FunctionTool[], choice: unknown): Choice {
  if (choice == null) return { offered: tools };
  if (choice === "none" || choice === "auto") return { offered: tools, mode: choice };
  if (choice === "required") {
    if (tools.length === 0) throw invalidField("tool_choice", "must not be required without tools");
    return { offered: tools, mode: choice };
  }
  if (!isFields(choice)) throw invalidField("tool_choice", "must be none, auto, required or an object");
  if (choice.type === "function") {
    const name = nameOf(choice, namesOf(tools), "tool_choice");
    return { offered: tools, mode: { type: "function", function: { name } } };
  }
  if (choice.type === "allowed_tools") return readAllowed(tools, choice);
  throw invalidField("tool_choice.type", "must be function or allowed_tools");
}

function readAllowed(tools: readonly FunctionTool[], { mode, tools: allowed }: Fields): Choice {
  if (mode !== "auto" && mode !== "required")
    throw invalidField("tool_choice.mode", "must be auto or required");
  if (!Array.isArray(allowed) || allowed.length === 0)
    throw invalidField("tool_choice.tools", "must be a list of at least one tool");
  const known = namesOf(tools);
  const names = new Set(allowed.map((tool, at) => nameOf(tool, known, `tool_choice.tools.${at}`)));
  return { offered: tools.filter(({ name }) => names.has(name)), mode };
}

function namesOf(tools: readonly FunctionTool[]): ReadonlySet<string> {
  return new Set(tools.map(({ name }) => name));
}

/** The name of a function, which must be one of `names`. */
function nameOf(tool: unknown, names: ReadonlySet<string>, path: string): string {
  if (!isFields(tool)) throw invalidField(path, "must be an object");
  if (tool.type !== "function") throw invalidField(`${path}.type`, "must be function");
  const name = shortTextOf(tool, "name", path);
  if (!names.has(name)) throw invalidField(`${path}.name`, "not one of the tools");
  return name;
}

function chatTool({ name, description, parameters, strict }: FunctionTool): Fields {
  const members = { name, description, parameters, strict };
  const given = Object.entries(members).filter(([, value]) => value !== null);
  return { type: "function", function: Object.fromEntries(given) };
}

function unsupportedTool(type: unknown): string {
  return typeof type === "string" ? `tools of type ${type} are not supported` : "not supported";
}
