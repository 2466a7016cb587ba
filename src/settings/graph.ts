import { z } from "zod";
import { graphLimits } from "../graph-limits.ts";
import { ms, type Settings } from "./values.ts";

/** GraphQL. */
export const GRAPH_SETTINGS = {
  INTROSPECTION: {
    schema: z.enum(["on", "off"]).optional(),
    about: "Whether GraphQL introspection is enabled; unset: on for devnet, off otherwise",
    example: "on",
  },
  GRAPH_LIMITS: {
    schema: graphLimits.optional(),
    about: "GraphQL limits that override the defaults in schema/choices.md, separated by commas",
    example: "depth=12,cost=2000,socketsPerKey=50",
  },
  GRAPH_QUERY_MS: {
    schema: ms.default(30_000),
    about: "Deadline for a GraphQL query. After it, no further subgraph is called",
    example: "30000",
  },
  TRUSTED_DOCUMENTS: {
    schema: z.string().min(1).optional(),
    about:
      "A JSON file of documents that clients may reference by id: Apollo's manifest, or an object that maps ids to documents",
    example: "persisted-query-manifest.json",
  },
  TRUSTED_DOCUMENTS_ONLY: {
    schema: z.enum(["on", "off"]).default("off"),
    about: "Whether GraphQL accepts only the documents of TRUSTED_DOCUMENTS",
    example: "on",
  },
} as const satisfies Settings;
