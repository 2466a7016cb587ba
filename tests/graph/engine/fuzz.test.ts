import fc from "fast-check";
import { execute, type GraphQLSchema, parse, printSchema, validate } from "graphql";
import { expect, onTestFinished, test } from "vitest";
import { ProcessPlanner } from "../../../gateway/planner/process-planner.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { type Federation, startFederation } from "./support/federation.ts";
import { type DrawnQuery, type DrawOptions, drawQuery } from "./support/valid-query.ts";
import { library, wholeLibrary } from "./topics/library/subgraphs.ts";

const QUERIES = 2_000;
const BIG = ["123456789012345678901234567890", "-9223372036854775809", "18446744073709551615", "7"];
const OPTIONS: DrawOptions = { values: { Big: BIG.map((text) => ({ literal: text, json: text })) } };

test(`${QUERIES} drawn queries over what federation has are answered as graphql-js answers them, or refused by name`, async () => {
  const { federation, whole, crashes } = await startLibrary();
  const refused: string[] = [];
  let valid = 0;
  for (let seed = 1; valid < QUERIES; seed++) {
    const drawn = draw(whole, seed);
    if (!drawn) continue;
    valid += 1;
    const { one, many } = await answers(federation, whole, drawn);
    const reason = many.codes.includes("graphql_refused") ? many.messages[0] : undefined;
    if (reason !== undefined) {
      refused.push(reason);
      expect(reason, `seed ${seed}: ${drawn.query}`).toMatch(/planner cannot plan|on its interface/);
      continue;
    }
    const told = `seed ${seed}: ${drawn.query}\n${JSON.stringify(drawn.variables)}`;
    expect(many.data, told).toBe(one.data);
    expect(many.nulled, told).toEqual(one.nulled);
  }
  expect(crashes()).toEqual([]);
  // Two forms, both over `@interfaceObject` or `@requires` in a fragment on one type: DECISIONS.md tells which.
  expect(refused.length / QUERIES).toBeLessThan(0.12);
  expect(refused.filter((reason) => reason.includes("cannot plan")).length / QUERIES).toBeLessThan(0.03);
}, 240_000);

function draw(schema: GraphQLSchema, seed: number): DrawnQuery | undefined {
  const [drawn] = fc.sample(
    fc.gen().map((value) => drawQuery(schema, (end) => value(fc.nat, { max: end - 1 }), OPTIONS)),
    { seed, numRuns: 1 },
  );
  return drawn && validate(schema, parse(drawn.query)).length === 0 ? drawn : undefined;
}

async function startLibrary() {
  const crashes: string[] = [];
  let planner: ProcessPlanner | undefined;
  const federation = await startFederation(library, "local", {
    planner: (supergraphSdl) => {
      const observer = {
        plannerRestarted: () => void crashes.push("restarted"),
        planRefused: (reason: string) => void (reason === "crashed" && crashes.push(reason)),
      };
      planner = new ProcessPlanner({ supergraphSdl, log: createLogger("fatal"), observer });
      return planner;
    },
  });
  onTestFinished(async () => {
    await Promise.all([federation.close(), planner?.close()]);
  });
  return {
    federation,
    whole: wholeLibrary(printSchema(federation.engine.apiSchema)),
    crashes: () => crashes,
  };
}

async function answers(federation: Federation, schema: GraphQLSchema, { query, variables }: DrawnQuery) {
  const document = parse(query);
  const one = await execute({ schema, document, variableValues: variables });
  const many = await federation.engine.execute({ document, variables, context: { user: "fuzz" } });
  return { one: read(one), many: read(many) };
}

type Failure = {
  readonly path?: readonly (string | number)[];
  readonly message: string;
  readonly extensions?: object;
};

function read(result: object) {
  const { data, errors = [] }: { data?: unknown; errors?: readonly Failure[] } = JSON.parse(
    JSON.stringify(result),
  );
  return {
    data: JSON.stringify(data),
    nulled: [...new Set(errors.map(({ path = [] }) => JSON.stringify(nulledBy(data, path))))].sort(),
    codes: errors.map(({ extensions }) => (extensions as { code?: unknown } | undefined)?.code),
    messages: errors.map(({ message }) => message),
  };
}

/** Where the null is that an error left: of several that null one object, each implementation may tell another. */
function nulledBy(data: unknown, path: readonly (string | number)[]): readonly (string | number)[] {
  let at = data;
  const depth = path.findIndex((key) => {
    if (at === null || at === undefined) return true;
    at = (at as Record<string | number, unknown>)[key];
    return false;
  });
  return depth < 0 ? path : path.slice(0, depth);
}
