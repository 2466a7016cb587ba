import { isText } from "../body/elided-text.ts";
import { refuseOtherCase, TOOL_MEMBERS } from "../body/field-case.ts";
import type { Fields } from "../body/fields.ts";
import { invalidField } from "../body/invalid-field.ts";
import { isFields, shortTextOf } from "./content-parts.ts";
import { notSupported, type Unsupported } from "./unsupported.ts";

/** A function that the model may call, as the response repeats it. */
export type FunctionTool = Fields & { readonly type: "function"; readonly name: string };

/** A tool that the client runs, and which a chat does not have, as the client sent it. */
type OtherTool = Fields & { readonly type: "custom" | "local_shell" | "apply_patch" | "tool_search" };

/** A tool that may be called. */
export type CallableTool = FunctionTool | OtherTool;

/** A group of tools that the client runs, such as those of one MCP server. */
export type NamespaceTool = Fields & {
  readonly type: "namespace";
  readonly name: string;
  readonly tools: readonly CallableTool[];
};
export type Tool = CallableTool | NamespaceTool;

/** The name of a namespace is read again with each of its tools. */
const MAX_NAMESPACE = 256;
const OTHER_TOOLS: ReadonlySet<unknown> = new Set(["custom", "local_shell", "apply_patch", "tool_search"]);
/** The types of the tools of a namespace. */
const GROUPED: ReadonlySet<unknown> = new Set(["function", "custom"]);

/**
 * The tools at `path` of a request; those that a chat does not have are added to `unsupported`. Throws `invalid_body`
 * for a tool that the client does not run: such a tool has its own price, and works on what the operator's account has
 * with the provider.
 */
export function readTools(
  tools: readonly unknown[],
  unsupported: Unsupported,
  path = "tools",
): readonly Tool[] {
  return tools.map((tool, at) => readTool(tool, `${path}.${at}`, unsupported));
}

function readTool(tool: unknown, path: string, unsupported: Unsupported): Tool {
  if (!isFields(tool)) throw invalidField(path, "must be an object");
  refuseOtherCase(tool, (name) => TOOL_MEMBERS.has(name), path);
  return tool.type === "namespace"
    ? readNamespace(tool, path, unsupported)
    : readCallable(tool, path, unsupported);
}

function readNamespace(namespace: Fields, path: string, unsupported: Unsupported): NamespaceTool {
  const name = shortTextOf(namespace, "name", path);
  if (name.length > MAX_NAMESPACE)
    throw invalidField(`${path}.name`, `must have 1 to ${MAX_NAMESPACE} characters`);
  const { description, tools } = namespace;
  checkDescription(description, path);
  if (!Array.isArray(tools)) throw invalidField(`${path}.tools`, "must be a list");
  const callable = tools.map((tool, at) => {
    const place = `${path}.tools.${at}`;
    if (!isFields(tool)) throw invalidField(place, "must be an object");
    if (!GROUPED.has(tool.type)) throw invalidField(`${place}.type`, notSupported("tools", tool.type));
    return readCallable(tool, place, unsupported);
  });
  return { type: "namespace", name, description: description ?? null, tools: callable };
}

function readCallable(tool: Fields, path: string, unsupported: Unsupported): CallableTool {
  refuseOtherCase(tool, (name) => TOOL_MEMBERS.has(name), path);
  const { type, description, parameters, strict, execution } = tool;
  if (type === "tool_search" && execution !== "client")
    throw invalidField(
      `${path}.execution`,
      "must be client: searches that the provider runs are not supported",
    );
  if (OTHER_TOOLS.has(type)) {
    if (type === "custom") shortTextOf(tool, "name", path);
    unsupported.add(`${path}.type`, notSupported("tools", type));
    return tool as OtherTool;
  }
  if (type !== "function") throw invalidField(`${path}.type`, notSupported("tools", type));
  const name = shortTextOf(tool, "name", path);
  checkDescription(description, path);
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
}

function checkDescription(description: unknown, path: string): void {
  if (description != null && !isText(description))
    throw invalidField(`${path}.description`, "must be a string");
}
