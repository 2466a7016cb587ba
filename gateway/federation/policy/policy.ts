import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
} from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { type GraphqlCode, StartupError } from "../../../src/kernel/errors.ts";
import type { SupergraphSource } from "../supergraph-source.ts";
import { createDocumentCheck } from "./document-check.ts";
import { createHideNames } from "./hidden-names.ts";
import { refuse, tooMuch } from "./refusals.ts";
import { NO_TRUSTED_DOCUMENTS, type TrustedDocuments } from "./trusted-documents.ts";
import { declaredIn, defaultsOf, findVariableFaults, type Variables } from "./variables.ts";

/** An operation as a client sends it, on any transport. */
export type OperationPayload = {
  readonly query?: string | null | undefined;
  /** The id of a trusted document, in place of its text. */
  readonly documentId?: string | null | undefined;
  readonly operationName?: string | null | undefined;
  readonly variables?: Variables | null | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
};

/** An operation that may run. Equal texts share one document object. */
export type Admitted = {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** The declared variables of the operation, as the client sent them. */
  readonly variables: Variables;
  /** The number of requests it counts as against the rate limit. */
  readonly requests: number;
};

/** Decides which operations are allowed: once, for HTTP, WebSocket, SSE and multipart (promises P8, F35). */
export interface Policy {
  readonly limits: GraphLimits;
  readonly trusted: TrustedDocuments;
  /** The text of the trusted document that a client names; undefined when it names no known document. */
  trustedText(payload: OperationPayload): string | undefined;
  /**
   * The refusal of an operation without a text whose name cannot be that of any document here; undefined for a hash that
   * a client may have registered.
   */
  refuseUnknown(payload: OperationPayload): GraphQLError | undefined;
  /** Admits an operation, or returns every reason against it. Nothing is planned or fetched before. */
  admit(payload: OperationPayload): Admitted | readonly GraphQLError[];
}

/** The dependencies of a policy. */
export type PolicyOptions = {
  readonly schema: GraphQLSchema;
  readonly supergraph: SupergraphSource;
  readonly limits: GraphLimits;
  /** Whether clients may introspect the schema and get suggestions of names. */
  readonly introspection: boolean;
  readonly trusted?: TrustedDocuments;
};

const NO_OPERATION = "OPERATION_RESOLUTION_FAILURE";

/**
 * Creates the policy of a graph. Checks go from the cheapest to the most expensive: the document, whose result is
 * cached, the size of its variables, their types, the cost. Throws a StartupError when a trusted document would be
 * refused.
 */
export function createPolicy(options: PolicyOptions): Policy {
  const { limits, trusted = NO_TRUSTED_DOCUMENTS } = options;
  const admitText = createAdmission(options);
  const trustedText = ({ documentId, extensions }: OperationPayload) => {
    const id = documentId ?? hashIn(extensions);
    return typeof id === "string" ? trusted.text(id) : undefined;
  };
  const policy: Policy = {
    limits,
    trusted,
    trustedText,
    refuseUnknown(payload) {
      const names = payload.documentId || (trusted.only && hashIn(payload.extensions));
      if (payload.query || !names || trustedText(payload) !== undefined) return undefined;
      return mayBeRegistered(payload, trusted) ? undefined : notFound(payload, trusted);
    },
    admit(payload) {
      const text = payload.query || trustedText(payload);
      if (typeof text !== "string") return [notFound(payload, trusted)];
      if (trusted.only && !trusted.has(text))
        return [refuse("Only trusted documents are allowed.", { limit: "trustedDocuments" })];
      return admitText(text, payload);
    },
  };
  requireGood(policy);
  return policy;
}

/** The admission of a text that is allowed by the trusted documents. */
function createAdmission({ schema, supergraph, limits, introspection }: PolicyOptions) {
  const hideNames = introspection ? undefined : createHideNames(schema);
  const check = createDocumentCheck({ schema, supergraph, limits, hideNames });
  return (
    text: string,
    { operationName, variables: given }: OperationPayload,
  ): ReturnType<Policy["admit"]> => {
    const checked = check(text);
    if (!("document" in checked)) return checked;
    const { document, inputs, priceOf } = checked;
    const operation = getOperationAST(document, operationName);
    if (!operation)
      return [
        withoutPlace("The document has no such operation: send an operationName that it has.", NO_OPERATION),
      ];
    const variables = declaredIn(operation, given ?? {});
    const all = operation.variableDefinitions?.length
      ? { ...defaultsOf(operation), ...variables }
      : variables;
    const excess = inputs.refuseVariables(operation, all);
    if (excess) return [excess];
    const faults = findVariableFaults(schema, operation, variables, {
      hidesNames: !introspection,
      fieldOf: (variable) => inputs.fieldOf(operation, variable),
    });
    if (faults.length > 0) return faults;
    const { cost, requests } = priceOf(operation);
    const total = cost(all);
    if (total > limits.cost) return [tooMuch("cost", total, limits.cost)];
    return { document, operation, variables, requests };
  };
}

/** The id in Apollo's extension for persisted queries. */
function hashIn(extensions: OperationPayload["extensions"]): string | undefined {
  const hash: unknown = Object(extensions?.persistedQuery).sha256Hash;
  return typeof hash === "string" ? hash : undefined;
}

/** Whether it names a document by a hash that clients may register. */
function mayBeRegistered({ extensions }: OperationPayload, { only }: TrustedDocuments): boolean {
  return hashIn(extensions) !== undefined && !only;
}

function notFound(payload: OperationPayload, trusted: TrustedDocuments): GraphQLError {
  return withoutPlace(reasonOf(payload, trusted), "PERSISTED_QUERY_NOT_FOUND");
}

function reasonOf(payload: OperationPayload, trusted: TrustedDocuments): string {
  // Clients of Apollo's protocol recognise this message, and send the query with its hash.
  if (mayBeRegistered(payload, trusted)) return "PersistedQueryNotFound";
  const isHash = !payload.documentId && hashIn(payload.extensions) !== undefined;
  if (!payload.documentId && !isHash) return "Send a query, or the id of a trusted document.";
  if (trusted.all.length === 0)
    return "This server has no trusted documents. Send a query in place of documentId.";
  return `This server has no trusted document with this ${isHash ? "hash" : "documentId"}.`;
}

function withoutPlace(message: string, code: GraphqlCode): GraphQLError {
  return new GraphQLError(message, { extensions: { code } });
}

/** Checks at startup that no trusted document would be refused. Costs depend on variables and are checked later. */
function requireGood({ trusted, admit }: Policy): void {
  for (const { id, text } of trusted.all) {
    const admitted = admit({ query: text });
    const [refusal] = "document" in admitted ? [] : admitted;
    // The operationName and the variables are only known with each request.
    if (
      !refusal ||
      refusal.extensions.code === NO_OPERATION ||
      refusal.extensions.code === "invalid_parameter"
    )
      continue;
    throw new StartupError(`TRUSTED_DOCUMENTS: the document ${id} is refused: ${refusal.message}`);
  }
}
