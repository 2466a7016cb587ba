import {
  type ASTNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FloatValueNode,
  type IntValueNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type StringValueNode,
  visit,
} from "graphql";
import type { QueryPlan } from "../planner.ts";
import { compileCondition } from "./conditions.ts";
import type { JsonObject } from "./subgraph-executor.ts";

const TYPENAME: FieldNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: "__typename" } };
/** Numbers of up to so many characters fit into the 64 bits that the planner has for them. */
const MAX_INTEGER_CHARACTERS = 18;

/** A document that the planner understands, and how its plan becomes one of the document that it was made of. */
export type PlannerDocument = {
  readonly document: DocumentNode;
  readonly restore: (plan: QueryPlan) => QueryPlan;
};

/** The variables that conditions of a document read, without their `$`. */
export function conditionVariables(document: DocumentNode): readonly string[] {
  const names = new Set<string>();
  visit(document, {
    Directive(directive) {
      const value = isCondition(directive) ? directive.arguments?.[0]?.value : undefined;
      if (value?.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return [...names].sort();
}

/**
 * Writes the conditions out, by the values of their variables: the planner mixes up conditions that nest, and makes no
 * plan when none holds. Where nothing is left of an object, `__typename` is.
 */
export function applyConditions(document: DocumentNode, variables: Readonly<JsonObject>): DocumentNode {
  return visit(document, {
    SelectionSet(set): SelectionSetNode | undefined {
      const kept = set.selections.filter(
        ({ directives }) => compileCondition(directives)?.(variables) !== false,
      );
      const selections = kept.map(withoutConditions);
      const isSame = selections.every((selection, at) => selection === set.selections[at]);
      if (isSame && selections.length === set.selections.length) return undefined;
      return { ...set, selections: selections.length > 0 ? selections : [TYPENAME] };
    },
  });
}

function withoutConditions<T extends SelectionNode>(selection: T): T {
  const { directives = [] } = selection;
  return directives.some(isCondition)
    ? { ...selection, directives: directives.filter((directive) => !isCondition(directive)) }
    : selection;
}

function isCondition({ name }: DirectiveNode): boolean {
  return name.value === "skip" || name.value === "include";
}

/**
 * Writes the numbers as strings that the planner has no type for: integers of more than 64 bits, which it refuses, and
 * fractions, which it would round. `restore` writes them as numbers again.
 */
export function hideNumbers(document: DocumentNode): PlannerDocument {
  const mark = markFor(document);
  let isMarked = false;
  const hide = ({ value }: IntValueNode | FloatValueNode): StringValueNode => {
    isMarked = true;
    return { kind: Kind.STRING, value: mark + value };
  };
  const hidden = visit(document, {
    IntValue: (node) => (node.value.length > MAX_INTEGER_CHARACTERS ? hide(node) : undefined),
    FloatValue: hide,
  });
  if (!isMarked) return { document, restore: (plan) => plan };
  const pattern = new RegExp(`"${mark}([-+.0-9eE]+)"`, "g");
  const restore = (plan: QueryPlan): QueryPlan =>
    JSON.parse(JSON.stringify(plan), (key, value: unknown) =>
      key === "operation" && typeof value === "string" ? value.replaceAll(pattern, "$1") : value,
    );
  return { document: hidden, restore };
}

/** A word that no string of the document begins with. */
function markFor(document: DocumentNode): string {
  let mark = "number:";
  visit(document, {
    StringValue({ value }: ASTNode & StringValueNode) {
      while (value.startsWith(mark)) mark = `_${mark}`;
    },
  });
  return mark;
}
