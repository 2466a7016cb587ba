import { AppError } from "../../src/kernel/errors.ts";

/** The members of an object that an input has as any JSON; none if it is not given. Throws `invalid_body` for other JSON. */
export function membersOf(value: unknown, param: string): object {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value;
  throw new AppError("invalid_body", `${param}: must be an object`, { param });
}
