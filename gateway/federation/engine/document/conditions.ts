import { type DirectiveNode, Kind } from "graphql";
import type { JsonObject } from "../subgraph-executor.ts";

/** Whether a selection is included, by the variables; undefined if it always is. */
export type Condition = ((variables: Readonly<JsonObject>) => boolean) | undefined;

/** Compiles `@skip` and `@include`. */
export function compileCondition(directives: readonly DirectiveNode[] | undefined): Condition {
  let condition: Condition;
  for (const directive of directives ?? []) {
    const name = directive.name.value;
    if (name !== "skip" && name !== "include") continue;
    condition = both(condition, compileFlag(directive, name === "include"));
  }
  return condition;
}

/** Holds when both conditions hold. */
export function both(first: Condition, second: Condition): Condition {
  if (!first || !second) return first ?? second;
  return (variables) => first(variables) && second(variables);
}

/** Holds when one of the conditions holds; always, when one of them always does. */
export function either(conditions: readonly Condition[]): Condition {
  const some = conditions.filter((condition) => condition !== undefined);
  if (some.length < conditions.length) return undefined;
  return (variables) => some.some((condition) => condition(variables));
}

function compileFlag(directive: DirectiveNode, wanted: boolean): Condition {
  const value = directive.arguments?.[0]?.value;
  if (value?.kind === Kind.VARIABLE) {
    const name = value.name.value;
    return (variables) => variables[name] === wanted;
  }
  const holds = value?.kind === Kind.BOOLEAN && value.value === wanted;
  return holds ? undefined : () => false;
}
