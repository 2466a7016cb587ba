import type { Fields } from "../body/fields.ts";
import { toolsInMessages } from "../body/message-tools.ts";

/** A tool that a request offers, which an allowlist does not contain: the field of the body, and the place within it. */
type RefusedTool = {
  readonly field: string;
  readonly place: string;
  readonly name?: string | undefined;
};

/** Types of tools that the client itself runs, so that their name says which one it is. */
const OWN_TYPES: ReadonlySet<unknown> = new Set([undefined, null, "function", "custom"]);

/**
 * The first tool of a request that is not in `allowed`; undefined if all of them are. The body may be of any format: a
 * tool whose name cannot be read is not allowed.
 */
export function refusedTool(fields: Fields, names: readonly string[]): RefusedTool | undefined {
  const allowed = new Set(names);
  for (const field of ["tools", "functions"]) {
    const refused = refusedIn(fields[field], field, allowed);
    if (refused) return { field, ...refused };
  }
  const loaded = refusedLoaded(fields.input, allowed);
  return loaded ? { field: "input", ...loaded } : refusedInMessages(fields, allowed);
}

function refusedInMessages(fields: Fields, allowed: ReadonlySet<string>): RefusedTool | undefined {
  for (const { tool, path } of toolsInMessages(fields)) {
    const refused = refusedAt(tool, path, allowed);
    if (refused) return { field: path.startsWith("system") ? "system" : "messages", ...refused };
  }
  return undefined;
}

/** Items of an input may load tools: those that a search has found. */
function refusedLoaded(input: unknown, allowed: ReadonlySet<string>): Refused | undefined {
  if (!Array.isArray(input)) return undefined;
  for (const [at, item] of input.entries()) {
    const refused = isFields(item) ? refusedIn(item.tools, `input.${at}.tools`, allowed) : undefined;
    if (refused) return refused;
  }
  return undefined;
}

type Refused = Omit<RefusedTool, "field">;

/** The first tool of a list that is not allowed. The tools of a namespace are compared one by one. */
function refusedIn(tools: unknown, place: string, allowed: ReadonlySet<string>): Refused | undefined {
  if (tools === undefined || tools === null) return undefined;
  if (!Array.isArray(tools)) return { place };
  for (const [at, tool] of tools.entries()) {
    const refused = refusedAt(tool, `${place}.${at}`, allowed);
    if (refused) return refused;
  }
  return undefined;
}

function refusedAt(tool: unknown, place: string, allowed: ReadonlySet<string>): Refused | undefined {
  if (!isFields(tool) || tool.type !== "namespace")
    return isAllowed(tool, allowed) ? undefined : { place, name: nameOf(tool) };
  const { name: namespace, tools } = tool;
  if (!Array.isArray(tools)) return { place };
  const at = tools.findIndex((grouped) => !isAllowedIn(grouped, namespace, allowed));
  return at === -1 ? undefined : { place: `${place}.tools.${at}`, name: nameOf(tools[at]) };
}

/** A tool of a namespace is known by its own name, or by that of a chat, which has no namespaces. */
function isAllowedIn(tool: unknown, namespace: unknown, allowed: ReadonlySet<string>): boolean {
  if (!isFields(tool) || !OWN_TYPES.has(tool.type)) return false;
  const names = namesOf(tool);
  return (
    names.length > 0 &&
    names.every((name) => isListed(name, allowed) || isListed(`${namespace}__${name}`, allowed))
  );
}

/** A tool with an interface of its provider is known by its type, such as `bash_20250124`, or by the name within that. */
function isAllowed(tool: unknown, allowed: ReadonlySet<string>): boolean {
  if (!isFields(tool)) return false;
  const { type } = tool;
  const names = namesOf(tool);
  if (OWN_TYPES.has(type)) return names.length > 0 && names.every((name) => isListed(name, allowed));
  if (typeof type !== "string") return false;
  return (
    isListed(type, allowed) || names.some((name) => isListed(name, allowed) && type.startsWith(`${name}_`))
  );
}

/** Every name that a tool has in any format: another parser might read any of them. */
function namesOf({ name, function: fn, custom }: Fields): readonly unknown[] {
  return [name, isFields(fn) ? fn.name : undefined, isFields(custom) ? custom.name : undefined].filter(
    (given) => given !== undefined,
  );
}

function nameOf(tool: unknown): string | undefined {
  if (!isFields(tool)) return undefined;
  const { type } = tool;
  const [name] = OWN_TYPES.has(type) ? namesOf(tool) : [type];
  return typeof name === "string" ? name : undefined;
}

function isListed(name: unknown, allowed: ReadonlySet<string>): boolean {
  return typeof name === "string" && allowed.has(name);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
