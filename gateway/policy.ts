import {
  type DocumentNode,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import QuickLru from "quick-lru";

/** Limits on what may be asked, the same on every transport (promises P8). */
export const LIMITS = {
  tokens: 2_000,
  bodyBytes: 262_144,
  frameBytes: 65_536,
  subscriptionsPerSocket: 100,
  initMs: 3_000,
} as const;

const KEPT_DOCUMENTS = 1_000;

/** Parses and validates what streams ask, with the rules of /graphql. */
export type Admit = (query: string) => DocumentNode | readonly GraphQLError[];

/** A bounded memory of documents that were found good, so that a reconnecting client is not validated again. */
export function createAdmission(schema: GraphQLSchema, introspection: boolean): Admit {
  const good = new QuickLru<string, DocumentNode>({ maxSize: KEPT_DOCUMENTS });
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  return (query) => {
    const known = good.get(query);
    if (known) return known;
    try {
      const document = parse(query, { maxTokens: LIMITS.tokens });
      const faults = validate(schema, document, rules, { maxErrors: 20 });
      if (faults.length > 0) return faults;
      good.set(query, document);
      return document;
    } catch (error) {
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
  };
}

/** A subscription is not answered by one response: it goes to the streams. */
export function refuseSubscription(operation: OperationDefinitionNode | undefined): void {
  if (operation?.operation !== "subscription") return;
  throw new GraphQLError("Subscribe over graphql-transport-ws at /graphql or over SSE at /graphql/stream.", {
    extensions: { code: "graphql_refused", http: { status: 400 } },
  });
}

/** What a client sees of an error: never a stack, and no text of an error that has no code. */
export function showError(formatted: GraphQLFormattedError): GraphQLFormattedError {
  const { stacktrace: _hidden, ...extensions } = formatted.extensions ?? {};
  if (extensions.code !== "INTERNAL_SERVER_ERROR") return { ...formatted, extensions };
  const shown = { message: "Something went wrong on our side.", extensions: { code: "internal_error" } };
  return formatted.path ? { ...shown, path: formatted.path } : shown;
}
