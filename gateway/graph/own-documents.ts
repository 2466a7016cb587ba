import { NEW_BLOCKS, VIEWER_KIND } from "../../packages/client/src/cli/documents.ts";
import { EVENT_CURSOR } from "../../packages/client/src/core/event-cursor.ts";
import * as operations from "../../packages/client/src/operations/graphql.ts";
import { BANNER_QUERY, BANNER_SUBSCRIPTION } from "../cli/welcome.ts";
import type { TrustedDocuments } from "../federation/policy/trusted-documents.ts";
import { MCP_DOCUMENTS } from "../mcp/documents.ts";

/** The exact texts that the product itself sends or prints: of MCP, the client, the command and the banner. */
export const OWN_DOCUMENTS: ReadonlySet<string> = new Set([
  ...MCP_DOCUMENTS,
  ...Object.values(operations)
    .filter((value) => value instanceof operations.TypedDocumentString)
    .map(String),
  EVENT_CURSOR,
  VIEWER_KIND,
  NEW_BLOCKS,
  BANNER_QUERY,
  BANNER_SUBSCRIPTION,
]);

/** Also trusts the product's own documents, which anyone with the permission for their fields may run. */
export function trustingOwn(trusted: TrustedDocuments): TrustedDocuments {
  return { ...trusted, has: (text) => OWN_DOCUMENTS.has(text) || trusted.has(text) };
}
