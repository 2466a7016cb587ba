import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from "graphql";
import { isInParts, type Part, type ResultInParts } from "../engine/incremental/parts.ts";
import { MapIterator } from "../engine/map-iterator.ts";
import { isPromise } from "../engine/subgraph-executor.ts";
import type { Graph } from "../graph.ts";

/** Names that every graph has. */
const COMMON = ["Query", "Mutation", "Subscription", "String", "Int", "Float", "Boolean", "ID"];
const SUGGESTION = / ?Did you mean .*\?$/s;
/** Errors about a document. From a subgraph they concern the gateway's own document, not the client's. */
const ABOUT_DOCUMENTS: ReadonlySet<unknown> = new Set([
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "BAD_USER_INPUT",
]);

/** Removes schema names that the client did not write from the messages of graphql-js. */
export type HideNames = (message: string, text: string) => string;

/** Creates the function for the names of one schema. */
export function createHideNames(schema: GraphQLSchema): HideNames {
  const hidden = namesOf(schema);
  for (const name of COMMON) hidden.delete(name);
  return (message, text) =>
    message.replace(SUGGESTION, "").replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => {
      const names = quoted.match(/[_A-Za-z]\w*/g) ?? [];
      const isRevealed = names.some((name) => hidden.has(name) && !hasWord(text, name));
      return isRevealed ? '"…"' : quoted;
    });
}

/** The graph, with responses that do not reveal its schema: no suggestions, no subgraph errors about documents. */
export function withHiddenNames(graph: Graph): Graph {
  const { engine } = graph;
  return {
    ...graph,
    engine: {
      apiSchema: engine.apiSchema,
      execute(request) {
        const result = engine.execute(request);
        return isPromise(result) ? result.then(hideIn) : hideIn(result);
      },
      executeIncrementally(request) {
        const result = engine.executeIncrementally(request);
        return isPromise(result) ? result.then(hideInParts) : hideInParts(result);
      },
      async subscribe(request) {
        const opened = await engine.subscribe(request);
        if (!(Symbol.asyncIterator in opened)) return hideIn(opened);
        return new MapIterator(opened, {
          map: hideIn,
          mapError: (reason) => (reason instanceof GraphQLError ? hideError(reason) : reason),
          onEnd: () => {},
        });
      },
    },
  };
}

function hideIn(result: ExecutionResult): ExecutionResult {
  return result.errors ? { ...result, errors: result.errors.map(hideError) } : result;
}

function hideInParts(result: ExecutionResult | ResultInParts): ExecutionResult | ResultInParts {
  if (!isInParts(result)) return hideIn(result);
  const rest = new MapIterator(result.rest, {
    map: ({ delivered, completed, ...part }: Part): Part => ({
      ...part,
      delivered: delivered.map((one) => ({ ...one, errors: one.errors.map(hideError) })),
      completed: completed.map((one) => (one.errors ? { ...one, errors: one.errors.map(hideError) } : one)),
    }),
    mapError: (reason) => reason,
    onEnd: () => {},
  });
  return { ...result, first: hideIn(result.first), rest };
}

function hideError(error: GraphQLError): GraphQLError {
  const { path, extensions, message } = error;
  if (ABOUT_DOCUMENTS.has(extensions.code))
    return new GraphQLError("", { path: path ?? null, extensions: { code: "internal_error" } });
  const shown = message.replace(SUGGESTION, "");
  return shown === message ? error : new GraphQLError(shown, { path: path ?? null, extensions });
}

function hasWord(text: string, name: string): boolean {
  return new RegExp(`(?<!\\w)${name}(?!\\w)`).test(text);
}

function namesOf(schema: GraphQLSchema): Set<string> {
  const names = new Set<string>();
  for (const type of Object.values(schema.getTypeMap())) {
    names.add(type.name);
    if (isEnumType(type)) for (const { name } of type.getValues()) names.add(name);
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      names.add(field.name);
      if ("args" in field) for (const { name } of field.args) names.add(name);
    }
  }
  for (const directive of schema.getDirectives()) {
    names.add(directive.name);
    for (const { name } of directive.args) names.add(name);
  }
  return names;
}
