import { Kind, type ValueNode, valueFromASTUntyped } from "graphql";

/**
 * A scalar literal as JSON, in lists and objects too. An integer that a JSON number would round stays text: scalars
 * that accept such integers accept them as text.
 */
export function readExactly(node: ValueNode, variables?: Readonly<Record<string, unknown>> | null): unknown {
  if (node.kind === Kind.INT && !Number.isSafeInteger(Number(node.value))) return node.value;
  if (node.kind === Kind.LIST) return node.values.map((value) => readExactly(value, variables));
  if (node.kind !== Kind.OBJECT) return valueFromASTUntyped(node, variables);
  return Object.fromEntries(
    node.fields.map(({ name, value }) => [name.value, readExactly(value, variables)]),
  );
}
