import {
  type DirectiveNode,
  GraphQLError,
  getNullableType,
  isListType,
  Kind,
  OperationTypeNode,
  type ValidationContext,
  type ValidationRule,
} from "graphql";
import { argumentOf, isIncremental } from "../engine/incremental/directives.ts";

/**
 * The rules of `@defer` and `@stream`, which graphql-js 16 does not have: labels are texts that occur once in a
 * document, `@stream` is for lists, neither is used on root fields of mutations and subscriptions, and a subscription
 * has them only with an `if` that may be false.
 */
export const IncrementalRule: ValidationRule = (context) => {
  const labels = new Set<string>();
  return {
    Directive(directive, _key, _parent, _path, ancestors) {
      if (!isIncremental(directive)) return;
      const reason =
        refuseLabel(directive, labels) ??
        refusePlace(directive, context) ??
        refuseOperation(directive, ancestors);
      if (reason !== undefined) context.reportError(new GraphQLError(reason, { nodes: directive }));
    },
  };
};

function refuseLabel(directive: DirectiveNode, labels: Set<string>): string | undefined {
  const label = argumentOf(directive, "label");
  if (!label || label.kind === Kind.NULL) return undefined;
  const name = directive.name.value;
  if (label.kind !== Kind.STRING)
    return `The label of @${name} must be a string in the document, not a variable.`;
  if (labels.has(label.value)) return `The label "${label.value}" is used more than once.`;
  labels.add(label.value);
  return undefined;
}

function refusePlace({ name }: DirectiveNode, context: ValidationContext): string | undefined {
  const schema = context.getSchema();
  const parent = context.getParentType();
  if (parent && (parent === schema.getMutationType() || parent === schema.getSubscriptionType()))
    return `@${name.value} cannot be used on fields of ${parent.name}.`;
  if (name.value !== "stream") return undefined;
  const type = context.getType();
  return type && !isListType(getNullableType(type)) ? "@stream can only be used on lists." : undefined;
}

/** Fragments may be spread in other operations too: their directives have no effect in subscriptions. */
function refuseOperation(directive: DirectiveNode, ancestors: readonly unknown[]): string | undefined {
  const isSubscription = ancestors.some(
    (node) =>
      typeof node === "object" &&
      node !== null &&
      "operation" in node &&
      node.operation === OperationTypeNode.SUBSCRIPTION,
  );
  const condition = argumentOf(directive, "if");
  const mayBeOff =
    condition?.kind === Kind.VARIABLE || (condition?.kind === Kind.BOOLEAN && !condition.value);
  return isSubscription && !mayBeOff
    ? `@${directive.name.value} cannot be used in subscriptions: their events are delivered whole.`
    : undefined;
}
