import { type CallToolResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { FormattedExecutionResult } from "graphql";
import { type ErrorCode, FAILURES } from "../../src/kernel/errors.ts";
import { renamed } from "../../subgraphs/shared/input-faults.ts";
import { type ArgumentPlace, argumentAt } from "./argument-names.ts";

type Failure = { readonly code: string; readonly message: string; readonly field?: string | null };
/** The result of an operation, as clients see it. */
export type OperationResult = FormattedExecutionResult<Readonly<Record<string, unknown>>>;

/**
 * The result of an operation as that of a tool: an error if it failed in part, or has `userErrors`. `places` are those
 * of the tool's arguments, by which errors name them.
 */
export function toToolResult(result: OperationResult, places: readonly ArgumentPlace[]): CallToolResult {
  const { data, errors } = result;
  const isEmpty = data == null || Object.values(data).every((value) => value === null);
  if ((isEmpty && errors) || data == null || userErrorsIn(data).length > 0) return failureOf(result, places);
  if (errors)
    return {
      content: [{ type: "text", text: textOf({ data, errors: errorsIn(result, places) }) }],
      isError: true,
    };
  return { content: [{ type: "text", text: textOf(data) }], structuredContent: { ...data } };
}

/** The failure of a call that lacks an argument, or has an unknown one; undefined if there is none. */
export function argumentFault(
  args: object,
  { properties = {}, required = [] }: Arguments,
): CallToolResult | undefined {
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) return invalidArgument(unknown, "unknown argument");
  const missing = required.find((name) => !Object.hasOwn(args, name));
  return missing === undefined ? undefined : invalidArgument(missing, "required");
}

/** The part of a tool's schema that names its arguments. */
type Arguments = {
  readonly properties?: object | undefined;
  readonly required?: readonly string[] | undefined;
};

function invalidArgument(field: string, what: string): CallToolResult {
  return toolError({ code: "invalid_parameter", message: `${field}: ${what}`, field });
}

/** The failure of an operation without data, or by its `userErrors`. */
export function failureOf(result: OperationResult, places: readonly ArgumentPlace[] = []): CallToolResult {
  const [failure] = [...userErrorsIn(result.data ?? {}, places), ...errorsIn(result, places)];
  return toolError(failure ?? { code: "internal_error", message: "Something went wrong on our side." });
}

/** A failure that a model can read, with the product's error code. */
export function toolError({ code, message, field }: Failure): CallToolResult {
  const shown = { error: { code, message, ...(field != null && { field }) } };
  return { content: [{ type: "text", text: textOf(shown) }], isError: true };
}

/** A failure as an error of the protocol, with the product's error code: `InternalError` only if it is our fault. */
export function protocolError(message: string, code: unknown): ProtocolError {
  const isOurs = !isCode(code) || FAILURES[code].status >= 500;
  const kind = isOurs ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidRequest;
  return new ProtocolError(kind, message, { code });
}

/** Whether an error says that the caller may not read something. */
export function isDenial(code: unknown): boolean {
  const { status } = isCode(code) ? FAILURES[code] : {};
  return status === 401 || status === 403;
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(FAILURES, code);
}

/** A value as the text of a result. */
export function textOf(value: unknown): string {
  return JSON.stringify(value);
}

function errorsIn({ errors = [] }: OperationResult, places: readonly ArgumentPlace[]): readonly Failure[] {
  return errors.map(({ message, extensions, path = [] }) => {
    const code = String(extensions?.code ?? "graphql_refused");
    const field = typeof extensions?.param === "string" ? extensions.param : null;
    return named({ code, message, field }, places, path);
  });
}

/** The `userErrors` of the payloads of mutations. */
function userErrorsIn(
  data: Readonly<Record<string, unknown>>,
  places: readonly ArgumentPlace[] = [],
): readonly Failure[] {
  return Object.entries(data).flatMap(([name, payload]) => {
    const { userErrors } = Object(payload) as { readonly userErrors?: unknown };
    if (!Array.isArray(userErrors)) return [];
    return (userErrors as readonly Failure[]).map((failure) => named(failure, places, [name]));
  });
}

/** A failure of the field at `path` that names the argument of the tool, not the member of the field's input. */
function named(
  failure: Failure,
  places: readonly ArgumentPlace[],
  path: readonly (string | number)[],
): Failure {
  const { message, field } = failure;
  const argument = field == null ? undefined : argumentAt(places, path, field);
  if (field == null || argument === undefined) return failure;
  return { ...failure, message: renamed(message, field, argument), field: argument };
}
