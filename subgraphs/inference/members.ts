import { isDeepStrictEqual } from "node:util";
import { invalidField } from "../../src/inference/body/invalid-field.ts";

/**
 * What an input's own fields and the operation set, with the additional members that the input's `param` has as JSON.
 * Throws `invalid_body` for JSON that is no object, and for a member that is set to another value already.
 */
export function withMembers<Own extends object>(own: Own, more: unknown, param: string): Own {
  if (more === undefined || more === null) return own;
  if (typeof more !== "object" || Array.isArray(more)) throw invalidField(param, "must be an object");
  for (const [name, value] of Object.entries(more))
    if (Object.hasOwn(own, name) && !isDeepStrictEqual(own[name as keyof Own], value))
      throw invalidField(`${param}.${name}`, "is already set to another value");
  return { ...more, ...own };
}
