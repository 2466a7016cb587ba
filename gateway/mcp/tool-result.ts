import type { CallToolResult } from "@modelcontextprotocol/server";
import type { FormattedExecutionResult } from "graphql";

type Failure = { readonly code: string; readonly message: string; readonly field?: string | null };
type Result = FormattedExecutionResult<Readonly<Record<string, unknown>>>;

/** The result of an operation as that of a tool: an error if it failed in part, or has `userErrors`. */
export function toToolResult(result: Result): CallToolResult {
  const { data, errors } = result;
  if (data == null || userErrorsIn(data).length > 0) return failureOf(result);
  if (errors)
    return { content: [{ type: "text", text: textOf({ data, errors: errorsIn(result) }) }], isError: true };
  return { content: [{ type: "text", text: textOf(data) }], structuredContent: { ...data } };
}

/** The failure of a call with an argument that its schema lacks; undefined if all are known. */
export function unknownArgument(args: object, known: object): CallToolResult | undefined {
  const field = Object.keys(args).find((name) => !Object.hasOwn(known, name));
  if (field === undefined) return undefined;
  return toolError({ code: "invalid_parameter", message: `${field}: unknown argument`, field });
}

/** The failure of an operation without data, or by its `userErrors`. */
export function failureOf(result: Result): CallToolResult {
  const [failure] = [...userErrorsIn(result.data ?? {}), ...errorsIn(result)];
  return toolError(failure ?? { code: "internal_error", message: "Something went wrong on our side." });
}

/** A failure that a model can read, with the product's error code. */
export function toolError({ code, message, field }: Failure): CallToolResult {
  const shown = { error: { code, message, ...(field != null && { field }) } };
  return { content: [{ type: "text", text: textOf(shown) }], isError: true };
}

/** A value as the text of a result. */
export function textOf(value: unknown): string {
  return JSON.stringify(value);
}

function errorsIn({ errors = [] }: Result): readonly Failure[] {
  return errors.map(({ message, extensions }) => ({
    code: String(extensions?.code ?? "graphql_refused"),
    message,
    ...(typeof extensions?.param === "string" && { field: extensions.param }),
  }));
}

/** The `userErrors` of the payloads of mutations. */
function userErrorsIn(data: Readonly<Record<string, unknown>>): readonly Failure[] {
  return Object.values(data).flatMap((payload) => {
    const { userErrors } = Object(payload) as { readonly userErrors?: unknown };
    return Array.isArray(userErrors) ? (userErrors as readonly Failure[]) : [];
  });
}
