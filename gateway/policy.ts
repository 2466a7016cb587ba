import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import QuickLru from "quick-lru";
import type { GraphLimits } from "../src/graph-limits.ts";
import { StartupError } from "../src/kernel/errors.ts";
import { type Cost, compileCost, type Prices } from "./policy/cost.ts";
import { type Measures, measureDocument } from "./policy/measure.ts";
import { refuse, tooMuch } from "./policy/refusals.ts";
import { readDirectiveUses } from "./policy/schema-directives.ts";
import { NO_TRUSTED_DOCUMENTS, type TrustedDocuments } from "./policy/trusted-documents.ts";

/** An operation as a client sends it, on any transport. */
export type OperationPayload = {
  readonly query?: string | null | undefined;
  /** The id of a trusted document, in place of its text. */
  readonly documentId?: string | null | undefined;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
};

/** An operation that may be run. Documents of one text are one object. */
export type Admitted = {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
};

/** Decides what may be asked: once, for HTTP, WebSocket, server-sent events and multipart (promises P8, F35). */
export interface Policy {
  readonly limits: GraphLimits;
  readonly trusted: TrustedDocuments;
  /** The trusted document that a client names in place of a text; undefined when it names none that is known. */
  trustedText(payload: OperationPayload): string | undefined;
  /** Admits an operation, or says in every point why not. Nothing is planned or asked before. */
  admit(payload: OperationPayload): Admitted | readonly GraphQLError[];
}

/** What a policy is made of. */
export type PolicyOptions = {
  readonly schema: GraphQLSchema;
  readonly supergraphSdl: string;
  readonly limits: GraphLimits;
  /** Whether clients may ask for the schema, and are told which name they may have meant. */
  readonly introspection: boolean;
  readonly trusted?: TrustedDocuments;
};

const KEPT_DOCUMENTS = 1_000;
const MOST_FAULTS = 20;
const NO_OPERATION = "OPERATION_RESOLUTION_FAILURE";
/** Which measures are limited, and what a client calls them. */
const MEASURED = [
  "depth",
  "introspectionDepth",
  "aliases",
  "rootFields",
  "directives",
  "fields",
  "repeats",
] as const;

/** A document that was found good, and the cost of its operations. */
type Checked = { readonly document: DocumentNode; readonly costs: Map<OperationDefinitionNode, Cost> };

/**
 * Makes the policy of a graph. Checks go from the cheapest to the dearest: tokens, shape, validity, cost. Throws a
 * StartupError when a trusted document would be refused.
 */
export function createPolicy(options: PolicyOptions): Policy {
  const { limits, trusted = NO_TRUSTED_DOCUMENTS } = options;
  const check = createCheck(options);
  const trustedText = ({ documentId, extensions }: OperationPayload) => {
    const id = documentId ?? hashIn(extensions);
    return id === undefined ? undefined : trusted.text(id);
  };
  const policy: Policy = {
    limits,
    trusted,
    trustedText,
    admit(payload) {
      const text = payload.query || trustedText(payload);
      if (text === undefined) return [notFound()];
      if (trusted.only && !trusted.has(text))
        return [refuse("Only documents that are known here are answered.", { limit: "trustedDocuments" })];
      const checked = check(text);
      if (!("costs" in checked)) return checked;
      const operation = getOperationAST(checked.document, payload.operationName);
      if (!operation)
        return [withoutPlace("The document has no such operation: name one of it.", NO_OPERATION)];
      const cost = checked.costs.get(operation)?.(payload.variables ?? {});
      if (cost !== undefined && cost > limits.cost) return [tooMuch("cost", cost, limits.cost)];
      return { document: checked.document, operation };
    },
  };
  requireGood(policy);
  return policy;
}

/** A bounded memory of documents that were found good, so that a client that comes again is not checked again. */
function createCheck(options: PolicyOptions): (text: string) => Checked | readonly GraphQLError[] {
  const { schema, supergraphSdl, limits, introspection } = options;
  const { cost = new Map(), listSize = new Map() } = readDirectiveUses(supergraphSdl, ["cost", "listSize"]);
  const prices: Prices = { cost, listSize, defaultListSize: limits.listSize };
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const good = new QuickLru<string, Checked>({ maxSize: KEPT_DOCUMENTS });
  return (text) => {
    const known = good.get(text);
    if (known) return known;
    const document = parseWithin(text, limits.tokens);
    if (document instanceof GraphQLError) return [document];
    const excess = findExcess(measureDocument(document), limits);
    if (excess.length > 0) return excess;
    const faults = validate(schema, document, rules, { maxErrors: MOST_FAULTS });
    if (faults.length > 0) return faults.map((fault) => toFault(fault, introspection));
    const costs = new Map<OperationDefinitionNode, Cost>();
    for (const definition of document.definitions)
      if (definition.kind === Kind.OPERATION_DEFINITION)
        costs.set(definition, compileCost(schema, prices, document, definition));
    const checked = { document, costs };
    good.set(text, checked);
    return checked;
  };
}

function parseWithin(text: string, maxTokens: number): DocumentNode | GraphQLError {
  try {
    return parse(text, { maxTokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const code =
      error.message.includes("more that") || error.message.includes("more than") ? "tokens" : undefined;
    if (code) return tooMuch("tokens", undefined, maxTokens);
    return withCode(error, error.message, "GRAPHQL_PARSE_FAILED");
  }
}

function findExcess(measures: Measures, limits: GraphLimits): readonly GraphQLError[] {
  if (measures.cycles > 0)
    return [withoutPlace("A fragment cannot be spread within itself.", "GRAPHQL_VALIDATION_FAILED")];
  return MEASURED.filter((name) => measures[name] > limits[name]).map((name) =>
    tooMuch(name, measures[name], limits[name]),
  );
}

/** Names that a client may have meant would tell the schema that introspection hides. */
function toFault(fault: GraphQLError, introspection: boolean): GraphQLError {
  const message = introspection ? fault.message : fault.message.replace(/ ?Did you mean .*\?$/s, "");
  return withCode(fault, message, "GRAPHQL_VALIDATION_FAILED");
}

function withCode({ nodes, source, positions }: GraphQLError, message: string, code: string): GraphQLError {
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    extensions: { code },
  });
}

/** The id in Apollo's extension for persisted queries. */
function hashIn(extensions: OperationPayload["extensions"]): string | undefined {
  const hash: unknown = Object(extensions?.persistedQuery).sha256Hash;
  return typeof hash === "string" ? hash : undefined;
}

function notFound(): GraphQLError {
  return withoutPlace(
    "Send a query, or the id of a document that is known here.",
    "PERSISTED_QUERY_NOT_FOUND",
  );
}

function withoutPlace(message: string, code: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code } });
}

/** An operator learns at once which of the documents the graph would not answer. Costs depend on variables and wait. */
function requireGood({ trusted, admit }: Policy): void {
  for (const { id, text } of trusted.all) {
    const admitted = admit({ query: text });
    // Which of several operations is meant, a client says with each request.
    if ("document" in admitted || admitted[0]?.extensions.code === NO_OPERATION) continue;
    throw new StartupError(`TRUSTED_DOCUMENTS: the document ${id} is refused: ${admitted[0]?.message}`);
  }
}
