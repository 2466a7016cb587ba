import { type ExecutionResult, type FormattedExecutionResult, GraphQLError } from "graphql";
import { oncePer } from "../../src/kernel/once-per.ts";
import { showError } from "../federation/policy/refusals.ts";
import type { Results } from "./streamed-operation.ts";

/** A result in the form clients see. */
export function showResult(result: ExecutionResult): FormattedExecutionResult {
  const { errors, ...rest } = result;
  return errors ? { ...rest, errors: errors.map((error) => showError(error.toJSON())) } : rest;
}

/** A result as JSON: serialized once, however many clients receive it. */
export const resultText = oncePer((result: ExecutionResult) => JSON.stringify(showResult(result)));

/** The result that reports a lost stream to the client. */
export function lossResult(reason: unknown, report: (error: unknown) => void): ExecutionResult {
  if (reason instanceof GraphQLError) return { errors: [reason] };
  report(reason);
  return { errors: [new GraphQLError("The stream was lost.", { extensions: { code: "internal_error" } })] };
}

/**
 * Delivers results one by one, each after the previous one was accepted, until the client disconnects (`deliver`
 * returns false). `lost` reports a failed stream. The source is always closed.
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
