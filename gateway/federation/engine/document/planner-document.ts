import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from "graphql";
import { argumentOf, isIncremental } from "../incremental/directives.ts";
import type { JsonObject } from "../subgraph-executor.ts";
import { compileCondition } from "./conditions.ts";
import { CHILDREN, contentsOf } from "./contents.ts";

const TYPENAME: FieldNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: "__typename" } };

/** The variables read by the conditions of a document, without their `$`. */
export function conditionVariables(document: DocumentNode): readonly string[] {
  const names = new Set<string>();
  for (const directive of contentsOf(document).directives.filter(hasCondition)) {
    const value = argumentOf(directive, "if");
    if (value?.kind === Kind.VARIABLE) names.add(value.name.value);
  }
  return [...names].sort();
}

/**
 * Removes incremental delivery and evaluates the conditions with the values of their variables: the planner confuses nested conditions, and makes no
 * plan when none holds. A selection set that becomes empty gets `__typename`.
 */
export function applyConditions(document: DocumentNode, variables: Readonly<JsonObject>): DocumentNode {
  if (!contentsOf(document).directives.some(hasCondition)) return document;
  const without = (set: SelectionSetNode): SelectionSetNode | undefined => {
    const included = set.selections.filter(
      ({ directives }) => compileCondition(directives)?.(variables) !== false,
    );
    const selections = included.map(withoutConditions);
    const isSame = selections.every((selection, at) => selection === set.selections[at]);
    if (isSame && selections.length === set.selections.length) return undefined;
    return { ...set, selections: selections.length > 0 ? selections : [TYPENAME] };
  };
  return visit(document, { SelectionSet: without }, CHILDREN);
}

function withoutConditions<T extends SelectionNode>(selection: T): T {
  const { directives = [] } = selection;
  return directives.some(hasCondition)
    ? { ...selection, directives: directives.filter((directive) => !hasCondition(directive)) }
    : selection;
}

function hasCondition(directive: DirectiveNode): boolean {
  const { value } = directive.name;
  return value === "skip" || value === "include" || isIncremental(directive);
}
