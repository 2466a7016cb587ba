import { z } from "zod";
import type { Setting } from "./values.ts";

/** As an operator writes a number: not the hexadecimal and exponential forms that `Number` reads too. */
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/**
 * Reads the text of a setting; undefined is unset. Throws an `Error` that names the setting, says what it allows, and
 * has an example.
 */
export function readSetting(name: string, { schema, example }: Setting, text: string | undefined): unknown {
  const result = schema.safeParse(text);
  const isNumber = result.success && typeof result.data === "number" && text !== undefined;
  // A template without its value leaves such a text, which would name a folder or a host, or be a secret.
  if (result.success && !isNumber && text?.trim() === "")
    throw new Error(`${name}: is blank, for example ${name}=${example}`);
  if (result.success && (!isNumber || DECIMAL.test(text))) return result.data;
  const rule = ruleOf(schema, result.error?.issues[0]);
  throw new Error(`${name}: ${rule}, for example ${name}=${example}`);
}

function ruleOf(schema: z.ZodType, issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === "invalid_value") return `must be ${alternatives(issue.values)}`;
  if (issue?.code === "invalid_format" && issue.format === "url") return "must be an http or https URL";
  if (issue?.code === "invalid_type" && issue.expected === "bigint") return "must be a whole number";
  const numbers = numbersOf(z.toJSONSchema(schema, { unrepresentable: "any" }));
  if (numbers && issue?.code !== "custom") return `must be ${numbers}`;
  return issue?.message ?? "malformed";
}

/** The numbers that a setting allows, in words, with the words that it allows in their place. */
function numbersOf({
  type,
  minimum,
  maximum,
  anyOf: choices,
}: z.core.JSONSchema.BaseSchema): string | undefined {
  if (choices) {
    const all = choices.map((choice) => (choice.const === undefined ? numbersOf(choice) : `${choice.const}`));
    return all.includes(undefined) ? undefined : alternatives(all);
  }
  if (type !== "integer" && type !== "number") return undefined;
  const kind = type === "integer" ? "a whole number" : "a number";
  return minimum === undefined || maximum === undefined ? kind : `${kind} from ${minimum} to ${maximum}`;
}

/** `a`, `a or b`, `a, b or c`. */
function alternatives(words: readonly unknown[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
