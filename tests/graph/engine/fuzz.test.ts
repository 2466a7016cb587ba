// @module-tag large
import { readFile } from "node:fs/promises";
import { buildSubgraphSchema } from "@apollo/subgraph";
import {
  buildASTSchema,
  type GraphQLSchema,
  isAbstractType,
  isScalarType,
  isSpecifiedScalarType,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  printSchema,
} from "graphql";
import { expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../gateway/federation/engine/engine.ts";
import { createLocalExecutor } from "../../../gateway/federation/executor.local.ts";
import { ProcessPlanner } from "../../../gateway/federation/planner/process-planner.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { modules } from "../../../subgraphs/modules.ts";
import { expectEqualAnswers, expectEqualParts } from "./support/equal-answers.ts";
import { startFederation, type TestContext } from "./support/federation.ts";
import { entityOf, resolveSynthetically, type SyntheticModel } from "./support/synthetic-values.ts";
import type { DrawOptions } from "./support/valid-query.ts";
import { library, wholeLibrary } from "./topics/library/subgraphs.ts";

/** `npm run fuzz` generates 2,000. */
const QUERIES = Number(process.env.FUZZ_QUERIES ?? 500);
/**
 * Fields per query that fetch entities of another subgraph: without a minimum of them the queries would not test
 * the engine.
 */
const MIN_JOINS = 0.12;
const BIG = ["123456789012345678901234567890", "-9223372036854775809", "18446744073709551615", "7"];
const OPTIONS: DrawOptions = { values: { Big: BIG.map((text) => ({ literal: text, json: text })) } };
/** What the planner and the engine name their own variables. */
const VARIABLES = ["representations", "__batch_reps_0", "__batch_reps_1", "_after", "_literal0"];
const TEXTS = ["0x11", "123456789012345678901234567890", 'q"\\ \n'];

test(`${QUERIES} generated queries over every federation feature get the answers of graphql-js, or are refused by name`, async () => {
  const { federation, whole, crashes } = await startLibrary();
  const refused = await expectEqualAnswers(federation.engine, whole, {
    queries: QUERIES,
    options: OPTIONS,
    mayRefuse: /planner cannot plan|on its interface/,
  });
  expect(crashes()).toEqual([]);
  // Two forms, both over `@interfaceObject` or `@requires` in a fragment on one type; DECISIONS.md describes
  // them.
  expect(refused.length / QUERIES).toBeLessThan(0.12);
  expect(refused.filter((reason) => reason.includes("cannot plan")).length / QUERIES).toBeLessThan(0.03);
});

test(`${QUERIES} generated queries over the product's own graph get the answers of graphql-js`, async () => {
  const { engine, whole, crashes, joins } = await startProductGraph();
  const refused = await expectEqualAnswers(engine, whole, {
    queries: QUERIES,
    options: optionsFor(whole),
    mayRefuse: /^never$/,
  });
  expect(refused).toEqual([]);
  expect(crashes()).toEqual([]);
  expect(joins() / QUERIES).toBeGreaterThan(MIN_JOINS);
});

test.each([
  // Every mutation is one subgraph's.
  ["mutation", 0.02],
  ["subscription", 0.02],
] as const)(
  `${QUERIES} generated operations of the kind %s get the answers of graphql-js, in the same order`,
  async (operation, joined) => {
    const { engine, whole, crashes, joins } = await startProductGraph();
    const refused = await expectEqualAnswers(engine, whole, {
      queries: QUERIES,
      options: { ...optionsFor(whole), operation },
      mayRefuse: /^never$/,
    });
    expect(refused).toEqual([]);
    expect(crashes()).toEqual([]);
    expect(joins() / QUERIES).toBeGreaterThan(joined);
  },
);

test(`${QUERIES} generated queries get the same data in parts as at once`, async () => {
  const { federation, crashes } = await startLibrary();
  const { inParts, failed, refused } = await expectEqualParts(federation.engine, {
    queries: QUERIES,
    options: OPTIONS,
  });
  expect(refused / QUERIES).toBeLessThan(0.12);
  expect(crashes()).toEqual([]);
  expect(inParts / QUERIES).toBeGreaterThan(0.4);
  expect(failed / QUERIES).toBeLessThan(0.2);
});

test(`${QUERIES} generated queries over the product's own graph get the same data in parts as at once`, async () => {
  const { engine, whole } = await startProductGraph();
  const { inParts } = await expectEqualParts(engine, { queries: QUERIES, options: optionsFor(whole) });
  expect(inParts / QUERIES).toBeGreaterThan(0.4);
});

/** Texts for every scalar of ours. */
function optionsFor(whole: GraphQLSchema): DrawOptions {
  const scalars = Object.values(whole.getTypeMap()).filter(
    (type) => isScalarType(type) && !isSpecifiedScalarType(type),
  );
  const texts = TEXTS.map((text) => ({ literal: JSON.stringify(text), json: text }));
  return {
    values: Object.fromEntries(scalars.map(({ name }) => [name, texts])),
    variableNames: VARIABLES,
    maxFields: 30,
  };
}

/** The committed supergraph and its four subgraphs, with synthetic content in place of their resolvers. */
async function startProductGraph() {
  const folder = new URL("../../../schema/", import.meta.url);
  const read = (file: string) => readFile(new URL(file, folder), "utf8");
  const supergraphSdl = await read("supergraph.graphql");
  const named = await Promise.all(
    modules.map(async ({ name }) => ({ name, document: parse(await read(`subgraphs/${name}.graphql`)) })),
  );
  const types = named
    .flatMap(({ document }) => document.definitions)
    .filter((node): node is ObjectTypeDefinitionNode => node.kind === Kind.OBJECT_TYPE_DEFINITION);
  const keys = new Map(
    types.flatMap((node) => keyFields(node).map((key) => [node.name.value, key] as const)),
  );
  const watched = watchedPlanner(supergraphSdl);
  let joins = 0;
  const executors = Object.fromEntries(
    named.map(({ name, document }) => {
      const resolvers = Object.fromEntries(
        types.flatMap(({ name: { value: type } }) => {
          const fields = keys.get(type);
          if (!fields || !document.definitions.some((node) => "name" in node && node.name?.value === type))
            return [];
          const resolve = (reference: Record<string, unknown>) => entityOf(type, fields, reference);
          return [[type, { __resolveReference: resolve }]];
        }),
      );
      const schema = buildSubgraphSchema([{ typeDefs: document, resolvers: resolvers as never }]);
      resolveSynthetically(schema, modelOf(schema, keys));
      const local = createLocalExecutor<TestContext, TestContext>({
        schema,
        contextOf: (one) => ({ ...one }),
      });
      const execute: typeof local.execute = (request) => {
        if (request.text.includes("_entities")) joins += 1;
        return local.execute(request);
      };
      return [name, { ...local, execute }];
    }),
  );
  onTestFinished(watched.close);
  const engine = createEngine<TestContext>({ supergraphSdl, planner: watched.planner, executors });
  const whole = buildASTSchema(parse(printSchema(engine.apiSchema)));
  resolveSynthetically(whole, modelOf(whole, keys));
  return { engine, whole, crashes: watched.crashes, joins: () => joins };
}

/** The fields of a type's first key; none where it has no key. */
function keyFields({ directives = [] }: ObjectTypeDefinitionNode): readonly (readonly string[])[] {
  const key = directives.find(({ name }) => name.value === "key");
  const fields = key?.arguments?.find(({ name }) => name.value === "fields")?.value;
  return fields?.kind === Kind.STRING ? [fields.value.split(" ")] : [];
}

function modelOf(schema: GraphQLSchema, keys: ReadonlyMap<string, readonly string[]>): SyntheticModel {
  return {
    keysOf: (type) => keys.get(type),
    membersOf(name) {
      const type = schema.getType(name);
      return isAbstractType(type)
        ? schema
            .getPossibleTypes(type)
            .map((member) => member.name)
            .sort()
        : [];
    },
  };
}

async function startLibrary() {
  let watched: ReturnType<typeof watchedPlanner> | undefined;
  const federation = await startFederation(library, "local", {
    planner: (supergraphSdl) => {
      watched = watchedPlanner(supergraphSdl);
      return watched.planner;
    },
  });
  onTestFinished(async () => void (await Promise.all([federation.close(), watched?.close()])));
  return {
    federation,
    whole: wholeLibrary(printSchema(federation.engine.apiSchema)),
    crashes: () => watched?.crashes(),
  };
}

/** The planner process, and the result of its work. */
function watchedPlanner(supergraphSdl: string) {
  const crashes: string[] = [];
  const observer = {
    plannerRestarted: () => void crashes.push("restarted"),
    planRefused: (reason: string) => void (reason === "crashed" && crashes.push(reason)),
  };
  const planner = new ProcessPlanner({ supergraphSdl, log: createLogger("fatal"), observer });
  return { planner, close: () => planner.close(), crashes: (): readonly string[] => crashes };
}
