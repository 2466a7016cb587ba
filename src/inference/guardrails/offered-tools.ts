type Fields = Readonly<Record<string, unknown>>;

/** A tool that a request offers, which an allowlist does not contain. */
type RefusedTool = { readonly field: string; readonly at?: number; readonly name?: string | undefined };

/** Types of tools that the client itself runs, so that their name says which one it is. */
const OWN_TYPES: ReadonlySet<unknown> = new Set([undefined, null, "function", "custom"]);

/**
 * The first tool of a request that is not in `allowed`; undefined if all of them are. The body may be of any format: a
 * tool whose name cannot be read is not allowed.
 */
export function refusedTool(fields: Fields, allowed: readonly string[]): RefusedTool | undefined {
  for (const field of ["tools", "functions"]) {
    const tools = fields[field];
    if (tools === undefined || tools === null) continue;
    if (!Array.isArray(tools)) return { field };
    const at = tools.findIndex((tool) => !isAllowed(tool, allowed));
    if (at !== -1) return { field, at, name: nameOf(tools[at]) };
  }
  return undefined;
}

/** A tool with an interface of its provider is known by its type, such as `bash_20250124`, or by the name within that. */
function isAllowed(tool: unknown, allowed: readonly string[]): boolean {
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

function isListed(name: unknown, allowed: readonly string[]): boolean {
  return typeof name === "string" && allowed.includes(name);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
