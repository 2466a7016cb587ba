import type { TadaDocumentNode } from "gql.tada";
import { print } from "graphql/language/printer.js";
import { reasonOf } from "./graph.ts";

/** Asks the graph once with a key of its own, past all caches. Throws with the reason of a refusal. */
export async function ask<Result, Variables extends object>(
  apiKey: string,
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> {
  const response = await fetch("/graphql", {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ query: print(document), variables }),
    ...(signal && { signal }),
  });
  const { data, errors } = (await response.json()) as { data?: Result; errors?: readonly Error[] };
  if (errors?.[0] || !data) throw new Error(reasonOf(errors ?? new Error("The gateway gave no answer.")));
  return data;
}
