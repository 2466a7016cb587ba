import { type DocumentNode, parse } from "graphql";

/** A composed supergraph: its SDL, or the document where several readers share one, since parsing it takes 20 ms. */
export type SupergraphSource = string | DocumentNode;

/** The document of a supergraph. */
export function toSupergraphDocument(source: SupergraphSource): DocumentNode {
  return typeof source === "string" ? parse(source, { noLocation: true }) : source;
}
