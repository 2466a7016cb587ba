import { type ExecutionResult, type FormattedExecutionResult, GraphQLError } from "graphql";
import { showError } from "../federation/policy/refusals.ts";
import type { Results } from "./streamed-operation.ts";

const texts = new WeakMap<ExecutionResult, string>();

/** A result as clients see it. */
export function showResult(result: ExecutionResult): FormattedExecutionResult {
  const { errors, ...rest } = result;
  return errors ? { ...rest, errors: errors.map((error) => showError(error.toJSON())) } : rest;
}

/** A result as JSON: written once, however many read it. */
export function resultText(result: ExecutionResult): string {
  const known = texts.get(result);
  if (known !== undefined) return known;
  const text = JSON.stringify(showResult(result));
  texts.set(result, text);
  return text;
}

/** What a client is told of a stream that is lost. */
export function lossResult(reason: unknown, report: (error: unknown) => void): ExecutionResult {
  if (reason instanceof GraphQLError) return { errors: [reason] };
  report(reason);
  return { errors: [new GraphQLError("The stream was lost.", { extensions: { code: "internal_error" } })] };
}

/**
 * Hands results on one by one, each when the one before was taken, until the client has gone (`deliver` says false).
 * How a lost stream ends is for `lost` to say. The source is let go of in every case.
 */
export async function pump(
  results: Results | ExecutionResult,
  deliver: (result: ExecutionResult) => Promise<boolean>,
  lost: (reason: unknown) => Promise<unknown>,
): Promise<void> {
  if (!(Symbol.asyncIterator in results)) {
    await deliver(results);
    return;
  }
  try {
    for await (const result of results) if (!(await deliver(result))) break;
  } catch (reason) {
    await lost(reason);
  }
}
