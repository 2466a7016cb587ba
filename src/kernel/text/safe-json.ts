import secureJson from "secure-json-parse";
import { AppError } from "../errors.ts";
import { duplicateMember } from "./duplicate-member.ts";

/**
 * Parses a JSON text that was measured before, so that the time is bounded; `members` are those that it has. Throws
 * `invalid_body` for a text that is not JSON; and, naming its path, for a member that could change an object's prototype,
 * and for a duplicate field in any object, of which another parser could use the other value.
 */
export function parseMeasured(json: Buffer, members: number): unknown {
  const text = json.toString("utf8");
  let value: unknown;
  try {
    value = secureJson.parse(text, { protoAction: "error", constructorAction: "error" });
  } catch {
    throw reasonAgainst(text);
  }
  if (membersOf(value) !== members) throw hasDuplicate(text);
  return value;
}

/** Counts the members of all objects of a parsed value. */
function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") members += membersOf(item);
  } else
    for (const name in value) {
      members++;
      members += membersOf((value as Readonly<Record<string, unknown>>)[name]);
    }
  return members;
}

function reasonAgainst(text: string): AppError {
  try {
    const param = pathToPrototype(JSON.parse(text))?.join(".");
    if (param === undefined) return malformed();
    return new AppError("invalid_body", `${param}: a member of this name is not allowed`, { param });
  } catch {
    return malformed();
  }
}

function hasDuplicate(text: string): AppError {
  const param = duplicateMember(text) ?? "body";
  return new AppError("invalid_body", `${param}: duplicate field`, { param });
}

/** The path of a member `__proto__` or `constructor.prototype`, which code that copies objects could take for theirs. */
function pathToPrototype(value: unknown): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "__proto__") return [name];
    if (name === "constructor" && Object.hasOwn(Object(inner), "prototype")) return [name, "prototype"];
    const path = pathToPrototype(inner);
    if (path) return [name, ...path];
  }
  return undefined;
}

function malformed(message = "The body is not valid JSON."): AppError {
  return new AppError("invalid_body", message, { param: "body" });
}
