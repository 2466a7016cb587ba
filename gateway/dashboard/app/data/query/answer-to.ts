import { useState } from "react";
import { type AnyVariables, stringifyVariables, type UseQueryState } from "urql";

/**
 * Whether the data of `useQuery` is the answer to these variables. Until it arrives, the data is the answer to the
 * variables before them, however long that takes, as without a network.
 */
export function isAnswerTo<Data, Variables extends AnyVariables>(
  { operation }: Pick<UseQueryState<Data, Variables>, "operation">,
  variables: Variables,
): boolean {
  return operation !== undefined && stringifyVariables(operation.variables) === stringifyVariables(variables);
}

/** The value, while it `isShown`; otherwise the one that was shown last. It must be the same object from render to render. */
export function useShown<Value>(value: Value, isShown: boolean): Value {
  const [shown, setShown] = useState(value);
  if (isShown && shown !== value) setShown(value);
  return isShown ? value : shown;
}
