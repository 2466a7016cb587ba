import { type DirectiveNode, type DocumentNode, Kind, type SelectionNode, type ValueNode } from "graphql";
import { contentsOf } from "../document/contents.ts";
import type { JsonObject } from "../subgraph-executor.ts";

/** The directives of incremental delivery, as the public schema publishes them. */
export const INCREMENTAL_SDL = `
"Delivers a fragment after the rest of the result, to clients that accept incremental delivery."
directive @defer(
  "Whether to deliver the fragment later."
  if: Boolean! = true
  "Identifies the fragment in the parts of the response. Must be unique in the document."
  label: String
) on FRAGMENT_SPREAD | INLINE_FRAGMENT
"Delivers the first items of a list with the result and the others after it, to clients that accept incremental delivery."
directive @stream(
  "Whether to deliver the other items later."
  if: Boolean! = true
  "Identifies the list in the parts of the response. Must be unique in the document."
  label: String
  "The number of items to deliver with the result."
  initialCount: Int! = 0
) on FIELD
`;

/** Whether a document asks for incremental delivery. */
export function asksForParts(document: DocumentNode): boolean {
  return contentsOf(document).directives.some(isIncremental);
}

/** Whether a directive is one of incremental delivery. */
export function isIncremental({ name }: DirectiveNode): boolean {
  return name.value === "defer" || name.value === "stream";
}

/** The directive on a selection, unless its `if` is false. */
export function findActive(
  { directives = [] }: SelectionNode,
  name: "defer" | "stream",
  variables: Readonly<JsonObject>,
): DirectiveNode | undefined {
  const directive = directives.find((one) => one.name.value === name);
  return directive && literalOf(argumentOf(directive, "if"), variables) !== false ? directive : undefined;
}

/** The value of an argument; undefined if it is not given. */
export function argumentOf({ arguments: given = [] }: DirectiveNode, name: string): ValueNode | undefined {
  return given.find((argument) => argument.name.value === name)?.value;
}

/** The label of a directive. */
export function labelOf(directive: DirectiveNode): string | undefined {
  const label = argumentOf(directive, "label");
  return label?.kind === Kind.STRING ? label.value : undefined;
}

/** How many items of a streamed list are delivered with the result. */
export function initialCountOf(directive: DirectiveNode, variables: Readonly<JsonObject>): number {
  const count = literalOf(argumentOf(directive, "initialCount"), variables);
  return typeof count === "number" ? Math.max(0, count) : 0;
}

function literalOf(value: ValueNode | undefined, variables: Readonly<JsonObject>): unknown {
  if (value?.kind === Kind.VARIABLE) return variables[value.name.value];
  if (value?.kind === Kind.BOOLEAN) return value.value;
  return value?.kind === Kind.INT ? Number(value.value) : undefined;
}
