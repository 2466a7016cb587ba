import { AppError } from "../../kernel/errors.ts";

const DEFAULT_VERSION = "2023-06-01";
const VERSION = /^\d{4}-\d{2}-\d{2}$/;
const BETA = /^[A-Za-z0-9._,\- ]{1,500}$/;

/** What a client says about its version of Anthropic's format: a day, and the names of beta features. */
export type FormatVersion = { readonly version?: string | undefined; readonly beta?: string | undefined };

/** The two headers that tell the provider the client's version of the format. Throws `invalid_parameter`. */
export function formatHeaders({
  version = DEFAULT_VERSION,
  beta,
}: FormatVersion): Readonly<Record<string, string>> {
  if (!VERSION.test(version)) throw malformed("anthropic-version");
  if (beta !== undefined && !BETA.test(beta)) throw malformed("anthropic-beta");
  return { "anthropic-version": version, ...(beta !== undefined && { "anthropic-beta": beta }) };
}

function malformed(name: string): AppError {
  return new AppError("invalid_parameter", `The header ${name} is malformed.`, { param: name });
}
