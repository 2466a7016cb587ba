import { buildSchema } from "graphql";
import { expect, test } from "vitest";
import { SCHEMA_RULES } from "../../../scripts/schema-lint/schema-lint.ts";
import { FAILURES, GRAPHQL_FAILURES, RECORDED_ENDINGS } from "../../../src/kernel/errors.ts";

const CODES = Object.keys({ ...FAILURES, ...RECORDED_ENDINGS, ...GRAPHQL_FAILURES }).join(" ");

/** For each rule: types that follow it, and types that break it with the fault that is reported. */
const CASES: Readonly<Record<string, readonly (readonly [good: string, bad: string, fault: string])[]>> = {
  elementsAreSpeltAndDescribed: [
    [
      'enum Kind { "One." ONE }',
      'enum Kind { "One." one }',
      "Kind.one does not follow the value naming rule",
    ],
    [
      '"All." type Mutation { "A field." a: Int }',
      'type Mutation { "A field." a: Int }',
      "Mutation has no description that ends with a period",
    ],
    [
      'extend type Query { "A field." a: Int }',
      "extend type Query { a: Int }",
      "Query.a has no description that ends with a period",
    ],
  ],
  listsAreFilteredByInputs: [
    [
      "type ThingConnection { a: Int } input ThingFilterInput { kind: Int } extend type Query { things(first: Int, filter: ThingFilterInput): ThingConnection }",
      "type ThingConnection { a: Int } extend type Query { things(first: Int, kind: Int): ThingConnection }",
      "Query.things(kind) is a condition of a list: put it into its filter",
    ],
  ],
  listsArePagedBothWays: [
    [
      "type ThingConnection { a: Int } extend type Query { things(first: Int, after: String, last: Int, before: String): ThingConnection }",
      "type ThingConnection { a: Int } extend type Query { things(first: Int, after: String): ThingConnection }",
      "Query.things is a page without first, after, last, before",
    ],
  ],
  mutationsAreVerbs: [
    [
      "type Mutation { createKey: Int }",
      "type Mutation { keyCreation: Int }",
      "Mutation.keyCreation does not start with a verb of the list",
    ],
  ],
  queriesAreNouns: [
    [
      "extend type Query { models: Int listing: Int prepareMint: Int }",
      "extend type Query { listModels: Int }",
      "Query.listModels starts with a verb: a query is a noun, prepare... or check...",
    ],
    [
      "type Mutation { createKey: Int }",
      "type Mutation { prepareMint: Int }",
      "Mutation.prepareMint changes nothing: prepare... and check... are queries",
    ],
  ],
  subscriptionsAreEvents: [
    [
      "type Subscription { keyChanged: Int jobProgress: Int completeChat: Int } type Mutation { completeChat: Int }",
      "type Subscription { newBlock: Int }",
      "Subscription.newBlock is neither ...ed, ...Progress nor the name of a mutation",
    ],
  ],
  subscriptionsResume: [
    [
      'scalar Cursor type Subscription { made(after: Cursor): Int "All. It has no cursor: why." seen: Int }',
      "type Subscription { made: Int }",
      "Subscription.made has no argument after: Cursor, and does not say why",
    ],
  ],
  booleansAreAdjectives: [
    [
      "extend type Query { paused: Boolean isAdmin: Boolean issuer: Boolean }",
      "extend type Query { isPaused: Boolean! }",
      'Query.isPaused is a boolean that starts with "is" before an adjective',
    ],
  ],
  entitiesAreObjects: [
    [
      "type Provider { address: String } extend type Query { provider: Provider providerAddress: String }",
      "extend type Query { provider: String! }",
      "Query.provider is not a Provider: name it after the key that it is",
    ],
  ],
  typesEndInTheirRole: [
    ["input ChatInput { a: Int }", "input Chat { a: Int }", "Chat is an input that does not end in Input"],
    [
      "interface Event { id: ID } type KeyEvent implements Event { id: ID }",
      "type KeyEvent { id: ID }",
      "KeyEvent must both end in Event and implement Event, or neither",
    ],
    [
      "type AskPayload { a: Int } type Mutation { ask: AskPayload }",
      "type AskPayload { a: Int }",
      "AskPayload ends in Payload and is not the result of a mutation",
    ],
  ],
  mutationsTakeOneInput: [
    [
      "input AskInput { a: Int } type Mutation { ask(input: AskInput!): Int endAll: Int }",
      "type Mutation { ask(question: String): Int }",
      "Mutation.ask does not take one argument input: AskInput",
    ],
  ],
  mutationsAnswerPayloads: [
    [
      `type Mutation { ask: AskPayload } type AskPayload { answer: String userErrors: [UserError!]! }
       type UserError { message: String }`,
      "type Mutation { ask: String }",
      "Mutation.ask does not answer AskPayload",
    ],
    [
      "type Mutation { ok: OkPayload } type OkPayload { userErrors: [UserError!]! } type UserError { message: String }",
      "type Mutation { ask: AskPayload } type AskPayload { answer: String! }",
      "AskPayload.answer cannot be null when there are userErrors",
    ],
    [
      "type Mutation { ok: OkPayload } type OkPayload { userErrors: [UserError!]! } type UserError { message: String }",
      "type Mutation { ask: AskPayload } type AskPayload { answer: String }",
      "AskPayload has no userErrors",
    ],
  ],
  errorsHaveCodes: [
    [
      `enum ErrorCode { ${CODES} } extend type Query { errorCode: ErrorCode }`,
      `enum ErrorCode { ${CODES} } extend type Query { errorCode: String }`,
      "Query.errorCode is not an ErrorCode",
    ],
    [`enum ErrorCode { ${CODES} }`, "enum ErrorCode { not_found }", "ErrorCode lacks internal_error"],
    [
      `enum ErrorCode { ${CODES} }`,
      `enum ErrorCode { ${CODES} odd }`,
      "ErrorCode.odd is not in the catalogue",
    ],
  ],
  idsAreGlobal: [
    [
      "interface Node { id: ID! } type Model implements Node { id: ID! modelId: String! }",
      "type Model { id: ID! }",
      "Model.id is not of an entity or an event: name it after what it identifies",
    ],
    [
      "interface Event { id: ID! } type KeyEvent implements Event { id: ID! }",
      "interface Event { id: ID } type KeyEvent implements Event { id: ID }",
      "KeyEvent.id is not an ID!",
    ],
    [
      "type Bill { requestId: String! }",
      "type Bill { requestId: ID! }",
      "Bill.requestId is a raw id: its type is not ID",
    ],
  ],
  idArgumentsNameEntities: [
    [
      "extend type Query { nodes(ids: [ID!]!): Int usage(modelId: ID): Int }",
      "extend type Query { model(name: ID): Int }",
      "Query.model(name) is an ID that is not named id, ids or ...Id",
    ],
  ],
  entitiesAreFound: [
    [
      "interface Node { id: ID! } type Model implements Node { id: ID! }",
      "interface Node { id: ID! } type Stranger implements Node { id: ID! }",
      "node does not find Stranger",
    ],
  ],
  whatIsReadCanBeNull: [
    [
      `type AConnection { a: Int } extend type Query { a: [Int!] pages: AConnection }
       type Model { id: Int! list(first: Int): Int } type Subscription { made: Int! }`,
      "extend type Query { a: [Int!]! }",
      "Query.a cannot be null, so a failure of it takes its parent away",
    ],
    [
      "type Model { a: Int! }",
      "type Model { a(b: Int): Int! }",
      "Model.a cannot be null, so a failure of it takes its parent away",
    ],
    [
      "type AConnection { a: Int } type Model { list: AConnection }",
      "type AConnection { a: Int } type Model { list: AConnection! }",
      "Model.list cannot be null, so a failure of it takes its parent away",
    ],
  ],
  nullsAreExplained: [
    [
      'type Key { "Null if unused." usedAt: Int name: Int! list(first: Int): Int } "Its fields are null." type P { a: Int }',
      'type Key { "When it was used." usedAt: Int }',
      "Key.usedAt can be null and does not say when",
    ],
  ],
  idArgumentsAreGlobal: [
    [
      "input AInput { id: ID! } extend type Query { model(id: ID!): Int stream(streamId: Int!): Int }",
      "extend type Query { stream(id: Int!): Int }",
      "Query.stream(id) is not of type ID: name it after the key that it is",
    ],
    [
      "input AInput { id: ID! } extend type Query { model(a: AInput): Int }",
      "input AInput { id: String! } extend type Query { model(a: AInput): Int }",
      "AInput.id is not of type ID: name it after the key that it is",
    ],
  ],
  countsAndSizesAreNamed: [
    [
      'type File { "The number of segments." segmentCount: Int "The segments." segments: [Int!]! }',
      'type File { "The number of segments." segments: Int }',
      "File.segments is a number of things whose name does not end in Count",
    ],
    [
      'type File { "The size in bytes." sizeBytes: Int "Width and height, such as 8x8." size: String }',
      'type File { "The size in bytes." size: Int }',
      "File.size is a size in bytes whose name does not end in Bytes",
    ],
  ],
  listsHaveNoHoles: [
    [
      "extend type Query { nodes: [Int] all: [Int!] }",
      "extend type Query { all: [Int] }",
      "Query.all is a list with items that can be null",
    ],
  ],
  mutationsCanBeNull: [
    ["type Mutation { create: Int }", "type Mutation { create: Int! }", "Mutation.create cannot be null"],
  ],
  scalarsAreSpecified: [
    ['scalar Day @specifiedBy(url: "https://example.org/day")', "scalar Day", "Day has no @specifiedBy"],
  ],
  valuesAreTyped: [
    [
      "scalar DateTime type Key { createdAt: DateTime! }",
      "type Key { createdAt: String }",
      "Key.createdAt is a String instead of a DateTime",
    ],
    [
      "scalar Date type Key { date: Date! }",
      "type Key { date: String }",
      "Key.date is a String instead of a Date",
    ],
  ],
  deprecationsAreDated: [
    [
      'type Key { old: Int @deprecated(reason: "Removed on 2027-01-31. Use `fresh`.") }',
      "type Key { old: Int @deprecated }",
      'Key.old is deprecated without "Removed on YYYY-MM-DD. Use `successor`."',
    ],
    [
      'type Key { a(old: Int @deprecated(reason: "Removed on 2027-01-31. Use `fresh`.")): Int }',
      "enum Kind { OLD @deprecated }",
      'Kind.OLD is deprecated without "Removed on YYYY-MM-DD. Use `successor`."',
    ],
  ],
};

test("every rule has its cases", () => {
  expect(Object.keys(CASES).toSorted()).toEqual(Object.keys(SCHEMA_RULES).toSorted());
});

test.each(Object.entries(CASES).flatMap(([rule, cases]) => cases.map((one) => [rule, ...one] as const)))(
  "%s accepts what follows it, and names what does not",
  (rule, good, bad, fault) => {
    const faultsIn = (types: string) =>
      SCHEMA_RULES[rule]?.(buildSchema(`"A type." type Query { "A field." ok: Int } ${types}`)) ?? [];
    expect(
      faultsIn(good).filter((found) => found.includes("description") === fault.includes("description")),
    ).toEqual([]);
    expect(faultsIn(bad)).toContain(fault);
  },
);
