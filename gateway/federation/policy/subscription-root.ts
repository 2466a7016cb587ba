import {
  type DirectiveNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  SingleFieldSubscriptionsRule,
  type ValidationContext,
  type ValidationRule,
} from "graphql";

/**
 * A subscription selects exactly one root field, whatever its variables are: as the specification of September 2025
 * requires, `@skip` and `@include` are refused there, in fragments too. The rule of graphql-js allows some of them,
 * and throws for a condition that is a variable.
 */
export const SubscriptionRootRule: ValidationRule = (context) => {
  const single = SingleFieldSubscriptionsRule(context);
  const checkSingle = "OperationDefinition" in single ? single.OperationDefinition : undefined;
  return {
    OperationDefinition(operation, ...rest) {
      if (operation.operation !== "subscription") return undefined;
      const condition = findCondition(context, operation);
      if (!condition) return typeof checkSingle === "function" ? checkSingle(operation, ...rest) : undefined;
      const message = `The root field of a subscription cannot be conditional: remove @${condition.name.value}.`;
      return context.reportError(new GraphQLError(message, { nodes: condition }));
    },
  };
};

/** The first condition on a root selection; undefined where there is none. */
function findCondition(
  context: ValidationContext,
  { selectionSet }: OperationDefinitionNode,
): DirectiveNode | undefined {
  const seen = new Set<SelectionSetNode>();
  const waiting = [selectionSet];
  for (let set = waiting.pop(); set !== undefined; set = waiting.pop()) {
    if (seen.has(set)) continue;
    seen.add(set);
    for (const selection of set.selections) {
      const found = selection.directives?.find(({ name }) => /^(?:skip|include)$/.test(name.value));
      if (found) return found;
      if (selection.kind === Kind.INLINE_FRAGMENT) waiting.push(selection.selectionSet);
      if (selection.kind !== Kind.FRAGMENT_SPREAD) continue;
      const fragment = context.getFragment(selection.name.value);
      if (fragment) waiting.push(fragment.selectionSet);
    }
  }
  return undefined;
}
