import type { TadaDocumentNode } from "gql.tada";
import { print } from "graphql/language/printer.js";
import { reasonOf } from "./graph.ts";

/** Sends one GraphQL request with an API key, without caching. Throws with the reason of a failure. */
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
  if (errors?.[0] || !data) throw new Error(reasonOf(errors ?? new Error("The gateway returned no data.")));
  return data;
}
