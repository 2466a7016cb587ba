import { type GraphQLSchema, getNamedType, isInputObjectType } from "graphql";
import { fieldsOf, objectTypesOf, rootFieldsOf } from "./schema-walk.ts";

/** What a mutation does. */
const MUTATION_VERBS = [
  "assemble",
  "cancel",
  "close",
  "complete",
  "create",
  "delete",
  "edit",
  "enable",
  "generate",
  "pause",
  "release",
  "replay",
  "rerank",
  "revoke",
  "rotate",
  "sign",
  "submit",
  "test",
  "transcribe",
  "update",
  "upload",
  "verify",
];
/** Queries that compute something are named after the computation; all others are nouns. */
const QUERY_VERBS = ["check", "prepare"];
const NO_QUERY_VERBS = ["find", "get", "list", "search", ...MUTATION_VERBS];
/** The name of an event on chain, which the specification fixes. */
const FIXED_SUBSCRIPTIONS = ["publishedSealedKey"];
/** `is` before a noun: without it, the name would be the name of the thing. */
const IS_BEFORE_NOUN = ["isAdmin", "isSigner", "isSpecialKey", "isWriterOfKey", "isWriterOfStream"];
/** A field with one of these names is the object: its raw key has a name that ends in what it is. */
const ENTITIES: Readonly<Record<string, string>> = {
  account: "Account",
  apiKey: "ApiKey",
  file: "File",
  job: "ImageJob",
  model: "Model",
  provider: "Provider",
  request: "InferenceRequest",
};

/** A mutation is a verb and what it acts on. */
export function mutationsAreVerbs(schema: GraphQLSchema): readonly string[] {
  return rootFieldsOf(schema, "mutation")
    .filter(({ name }) => !MUTATION_VERBS.some((verb) => startsWithWord(name, verb)))
    .map(({ name }) => `Mutation.${name} does not start with a verb of the list`);
}

/** A query is a noun, or `prepare...` or `check...`. What changes nothing is a query. */
export function queriesAreNouns(schema: GraphQLSchema): readonly string[] {
  const queries = rootFieldsOf(schema, "query")
    .filter(({ name }) => NO_QUERY_VERBS.some((verb) => startsWithWord(name, verb)))
    .map(({ name }) => `Query.${name} starts with a verb: a query is a noun, prepare... or check...`);
  const mutations = rootFieldsOf(schema, "mutation")
    .filter(({ name }) => QUERY_VERBS.some((verb) => startsWithWord(name, verb)))
    .map(({ name }) => `Mutation.${name} changes nothing: prepare... and check... are queries`);
  return [...queries, ...mutations];
}

/**
 * A subscription is a noun and what happened to it (`keyChanged`), the progress of one thing (`fileProgress`), or has
 * the name of the mutation that does the same at once (`completeChat`).
 */
export function subscriptionsAreEvents(schema: GraphQLSchema): readonly string[] {
  const mutations = rootFieldsOf(schema, "mutation").map(({ name }) => name);
  return rootFieldsOf(schema, "subscription")
    .filter(({ name }) => !/[a-z](ed|Progress)$/.test(name))
    .filter(({ name }) => ![...mutations, ...FIXED_SUBSCRIPTIONS].includes(name))
    .map(({ name }) => `Subscription.${name} is neither ...ed, ...Progress nor the name of a mutation`);
}

/** A subscription resumes after a cursor, or says in its description why it has none. */
export function subscriptionsResume(schema: GraphQLSchema): readonly string[] {
  return rootFieldsOf(schema, "subscription")
    .filter(({ args }) => !args.some(({ name, type }) => name === "after" && String(type) === "Cursor"))
    .filter(({ description }) => !description?.includes("It has no cursor"))
    .map(({ name }) => `Subscription.${name} has no argument after: Cursor, and does not say why`);
}

/** A boolean is an adjective or a participle, without `is`. */
export function booleansAreAdjectives(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema)
    .filter(({ type, name }) => getNamedType(type).name === "Boolean" && /^is[A-Z]/.test(name))
    .filter(({ name }) => !IS_BEFORE_NOUN.includes(name))
    .map(({ path }) => `${path} is a boolean that starts with "is" before an adjective`);
}

/** A field that is named after an entity is that entity: the key alone is `...Address`, `...Id` or `...Root`. */
export function entitiesAreObjects(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema)
    .filter(({ name, type }) => (ENTITIES[name] ?? getNamedType(type).name) !== getNamedType(type).name)
    .map(({ path, name }) => `${path} is not a ${ENTITIES[name]}: name it after the key that it is`);
}

/** An argument or input field `id` accepts the global id: any other key is named after what it is the key of. */
export function idArgumentsAreGlobal(schema: GraphQLSchema): readonly string[] {
  const args = fieldsOf(schema).flatMap(({ path, args }) =>
    args.map(({ name, type }) => ({ place: `${path}(${name})`, name, type })),
  );
  const members = Object.values(schema.getTypeMap())
    .filter(isInputObjectType)
    .flatMap((input) =>
      Object.values(input.getFields()).map(({ name, type }) => ({
        ...{ place: `${input.name}.${name}`, name, type },
      })),
    );
  return [...args, ...members]
    .filter(({ name, type }) => name === "id" && getNamedType(type).name !== "ID")
    .map(({ place }) => `${place} is not of type ID: name it after the key that it is`);
}

/** What a field says that is the number of something which other fields list. */
const COUNTS = /\bThe number of [^.]*(rows|segments|sectors|peers|shards|sessions|requests|models)\b/;

/** A number of things ends in `Count`, so that it is not taken for the list of them; a size ends in `Bytes`. */
export function countsAndSizesAreNamed(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema).flatMap(({ path, name, type, description, args }) => {
    if (!["Int", "BigInt"].includes(getNamedType(type).name) || args.length > 0) return [];
    if (/\bsize\b[^.]*\bbytes\b/i.test(description ?? "") && !name.endsWith("Bytes"))
      return [`${path} is a size in bytes whose name does not end in Bytes`];
    return COUNTS.test(description ?? "") && !/(Count|Id)$/.test(name)
      ? [`${path} is a number of things whose name does not end in Count`]
      : [];
  });
}

/** Inputs end in `Input`, the results of mutations in `Payload`, events in `Event`; no other type does. */
export function typesEndInTheirRole(schema: GraphQLSchema): readonly string[] {
  const inputs = Object.values(schema.getTypeMap())
    .filter(isInputObjectType)
    .filter(({ name }) => !name.endsWith("Input"))
    .map(({ name }) => `${name} is an input that does not end in Input`);
  const events = objectTypesOf(schema)
    .filter(
      (type) => type.name.endsWith("Event") !== type.getInterfaces().some(({ name }) => name === "Event"),
    )
    .map(({ name }) => `${name} must both end in Event and implement Event, or neither`);
  const payloads = rootFieldsOf(schema, "mutation").map(({ type }) => getNamedType(type).name);
  const others = objectTypesOf(schema)
    .filter(({ name }) => name.endsWith("Payload") && !payloads.includes(name))
    .map(({ name }) => `${name} ends in Payload and is not the result of a mutation`);
  return [...inputs, ...events, ...others];
}

function startsWithWord(name: string, word: string): boolean {
  return name === word || (name.startsWith(word) && /^[A-Z]/.test(name.slice(word.length)));
}
