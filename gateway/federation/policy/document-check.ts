import { createHash } from "node:crypto";
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoFragmentCyclesRule,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  validate,
} from "graphql";
import type { GraphLimits } from "../../../src/graph-limits.ts";
import { ByteLru } from "../../../src/kernel/byte-lru.ts";
import { findMember, readMemberPaths } from "../../../subgraphs/shared/member-paths.ts";
import { requestsOf } from "../../../subgraphs/shared/schema/root-requests.ts";
import { findUnsupported } from "../engine/refusal.ts";
import type { SupergraphSource } from "../supergraph-source.ts";
import { type Cost, compileCost, type Prices } from "./cost.ts";
import type { HideNames } from "./hidden-names.ts";
import { IncrementalRule } from "./incremental-rule.ts";
import { InputLimits } from "./input-limits.ts";
import { type Inputs, readInputs } from "./input-usages.ts";
import { createIntrospectionCheck } from "./introspection-cost.ts";
import { LocatedError, Locator } from "./located-error.ts";
import { type Measures, measureDocument } from "./measure.ts";
import { passesRules } from "./quick-validation.ts";
import { refuse, tooMuch } from "./refusals.ts";
import { readDirectiveUses } from "./schema-directives.ts";
import { createPartSharing } from "./shared-parts.ts";
import { SubscriptionRootRule } from "./subscription-root.ts";
import { refuseText } from "./text-limits.ts";

/** The rules that documents are checked against. */
export type DocumentRules = {
  readonly schema: GraphQLSchema;
  readonly supergraph: SupergraphSource;
  readonly limits: GraphLimits;
  /** Undefined where clients may see the schema. */
  readonly hideNames: HideNames | undefined;
};

/** A document that passed all checks. */
type CheckedDocument = {
  readonly document: DocumentNode;
  readonly inputs: Inputs;
  /** The cost of one of its operations, and the number of requests it counts as. */
  priceOf(operation: OperationDefinitionNode): OperationPrice;
};

type OperationPrice = { readonly cost: Cost; readonly requests: number };
type Verdict = CheckedDocument | readonly GraphQLError[];

const MAX_CACHED = 4_000;
const MAX_CACHED_BYTES = 8 * 1_048_576;
/** A cached document, with everything compiled for it here, takes about this many bytes per character. */
const BYTES_PER_CHARACTER = 24;
/** A refusal has a few messages, each cut to its first 500 characters. */
const REFUSAL_BYTES = 4_096;
/** Longer texts are cached by hash. */
const MAX_KEY_LENGTH = 4_096;
const MAX_FAULTS = 20;
const INVALID = "GRAPHQL_VALIDATION_FAILED";
const INVALID_CURSOR = "invalid_cursor";
const RULES = [
  ...specifiedRules.map((rule) => (rule === SingleFieldSubscriptionsRule ? SubscriptionRootRule : rule)),
  IncrementalRule,
];
/** The message of MaxIntrospectionDepthRule: more than two lists of types within one another. */
const TOO_DEEP = "Maximum introspection depth exceeded";
const LONG_INTROSPECTION = "This introspection query costs more than 1.5 times the standard one.";
/** The limited measures, by the names that clients see. */
const MEASURED = [
  "depth",
  "introspectionDepth",
  "aliases",
  "rootFields",
  "directives",
  "fields",
  "repeats",
  "variables",
] as const;

/**
 * Creates the document check, which goes from the cheapest to the most expensive step: size, tokens, shape, validity,
 * arguments. Results, good or bad, are cached within a byte limit, so that a repeated text costs one lookup. Once the
 * cache is an eighth full, a result is cached only from the second check of its text on.
 */
export function createDocumentCheck(rules: DocumentRules): (text: string) => Verdict {
  const check = createUncachedCheck(rules);
  const known = new ByteLru<Verdict>({
    ...{ maxEntries: MAX_CACHED, maxBytes: MAX_CACHED_BYTES, isSelective: true },
  });
  /** Some requests are checked twice, before anything else is. */
  let last: { readonly text: string; readonly found: Verdict } | undefined;
  return (text) => {
    if (text.length > rules.limits.documentBytes) return check(text);
    const key = text.length <= MAX_KEY_LENGTH ? text : createHash("sha256").update(text).digest("base64");
    const seen = known.get(key);
    if (seen) return seen;
    if (last?.text === text) return last.found;
    const found = check(text);
    last = { text, found };
    const isGood = "document" in found;
    known.set(key, found, 2 * key.length + (isGood ? BYTES_PER_CHARACTER * text.length : REFUSAL_BYTES));
    return found;
  };
}

function createUncachedCheck({ schema, supergraph, limits, hideNames }: DocumentRules) {
  const { cost = new Map(), listSize = new Map() } = readDirectiveUses(supergraph, ["cost", "listSize"]);
  const prices: Prices = { cost, listSize, defaultListSize: limits.listSize };
  const rules = hideNames ? [...RULES, NoSchemaIntrospectionCustomRule] : RULES;
  const inputLimits = new InputLimits(limits);
  const isLongIntrospection = createIntrospectionCheck(schema);
  const share = createPartSharing(schema);
  const findFaults = (document: DocumentNode) => validate(schema, document, rules, { maxErrors: MAX_FAULTS });
  const findCycles = (document: DocumentNode) => {
    const found = validate(schema, document, [NoFragmentCyclesRule], { maxErrors: MAX_FAULTS });
    // graphql-js looks at the first of two fragments of one name only.
    return found.length > 0 ? found : [new GraphQLError("A fragment cannot be spread within itself.")];
  };
  /** Only an invalid document is parsed again with its locations. */
  const locateFaults = (text: string, find: (placed: DocumentNode) => readonly GraphQLError[]) => {
    const placed = parse(text);
    const locator = new Locator(text, placed);
    const paths = readMemberPaths(placed);
    return find(placed).map((fault) => {
      const message = hideNames ? hideNames(fault.message, text) : fault.message;
      const code = fault.extensions.code === INVALID_CURSOR ? INVALID_CURSOR : INVALID;
      const place = { locations: locator.locate(fault), param: findMember(paths, fault, message) };
      return new LocatedError(message, code, place);
    });
  };
  return (text: string): Verdict => {
    const refusal = refuseText(text, limits);
    if (refusal) return [refusal];
    const document = parseWithin(text, limits.tokens, hideNames);
    if (document instanceof GraphQLError) return [document];
    const measures = measureDocument(document);
    if (measures.cycles > 0) return locateFaults(text, findCycles);
    const excess = findExcess(measures, limits);
    if (excess.length > 0) return excess;
    const faults = passesRules(schema, document, rules) ? [] : locateFaults(text, findFaults);
    if (faults.length > 0 && faults.every(({ message }) => message === TOO_DEEP))
      return [refuse(`${TOO_DEEP}.`, { limit: "introspectionDepth" })];
    if (faults.length > 0) return faults;
    const unsupported = findUnsupported(document);
    if (unsupported) return [unsupported];
    for (const part of document.definitions)
      if (part.kind === Kind.OPERATION_DEFINITION && isLongIntrospection(document, part))
        return [refuse(LONG_INTROSPECTION, { limit: "introspection" })];
    share(document);
    const inputs = readInputs(schema, inputLimits, document);
    if (inputs.refusal) return [inputs.refusal];
    return { document, inputs, priceOf: createPriceOf(schema, prices, document) };
  };
}

/** Of many operations in one document, only the requested ones are compiled. */
function createPriceOf(
  schema: GraphQLSchema,
  prices: Prices,
  document: DocumentNode,
): CheckedDocument["priceOf"] {
  const known = new Map<OperationDefinitionNode, OperationPrice>();
  return (operation) => {
    const price = known.get(operation) ?? {
      cost: compileCost(schema, prices, document, operation),
      requests: requestsOf(document, operation),
    };
    known.set(operation, price);
    return price;
  };
}

/** Without locations: they would keep a token for each comment in memory. */
function parseWithin(
  text: string,
  maxTokens: number,
  hideNames: HideNames | undefined,
): DocumentNode | GraphQLError {
  try {
    return parse(text, { maxTokens, noLocation: true });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    if (/more tha[nt]/.test(error.message)) return tooMuch("tokens", undefined, maxTokens);
    const message = hideNames ? hideNames(error.message, text) : error.message;
    return new LocatedError(message, "GRAPHQL_PARSE_FAILED", { locations: error.locations ?? [] });
  }
}

function findExcess(measures: Measures, limits: GraphLimits): readonly GraphQLError[] {
  return MEASURED.filter((name) => measures[name] > limits[name]).map((name) =>
    tooMuch(name, measures[name], limits[name]),
  );
}
