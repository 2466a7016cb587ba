import fc from "fast-check";
import {
  type ExecutionResult,
  execute,
  type GraphQLSchema,
  parse,
  print,
  subscribe,
  validate,
} from "graphql";
import { expect } from "vitest";
import type { Engine } from "../../../../gateway/federation/engine/engine.ts";
import type { TestContext } from "./federation.ts";
import { mergeParts } from "./parts.ts";
import { inRandomParts } from "./random-parts.ts";
import type { SyntheticContext } from "./synthetic-values.ts";
import { type DrawnQuery, type DrawOptions, drawQuery } from "./valid-query.ts";

const NULL_REFUSED = { codes: ["invalid_parameter"], data: undefined };

/**
 * Generates valid queries over `whole`, which graphql-js answers, and expects the same data and the same
 * nulls by errors from `engine`, over subgraphs with the same content. Returns the reasons of the queries
 * that were refused by name, which `mayRefuse` has to allow.
 */
export async function expectEqualAnswers(
  engine: Engine<TestContext>,
  whole: GraphQLSchema,
  given: { readonly queries: number; readonly options: DrawOptions; readonly mayRefuse: RegExp },
): Promise<readonly string[]> {
  const refused: string[] = [];
  let valid = 0;
  for (let seed = 1; valid < given.queries; seed++) {
    const drawn = draw(whole, seed, given.options);
    if (!drawn) continue;
    valid += 1;
    const { one, first, again } = await answers(engine, whole, drawn);
    const context = `seed ${seed}: ${drawn.query}\n${JSON.stringify(drawn.variables)}`;
    if (drawn.hasForbiddenNull) {
      // graphql-js fails at the selection when it gets there, the engine before any subgraph request.
      expect({ codes: [...new Set(first.codes)], data: first.data }, context).toEqual(NULL_REFUSED);
      continue;
    }
    const reason = first.codes.includes("graphql_refused") ? first.messages[0] : undefined;
    if (reason !== undefined) {
      refused.push(reason);
      expect(reason, context).toMatch(given.mayRefuse);
      continue;
    }
    // Subgraphs compile what comes again.
    for (const many of [first, again]) {
      expect(many.data, context).toBe(one.data);
      expect(many.ran, context).toEqual(one.ran);
      expect(many.nulled, context).toEqual(one.nulled);
      // An error of a subgraph explains its nulls: the engine adds none.
      expect(many.messages.filter(isOurs), context).toEqual(one.messages.filter(isOurs));
    }
  }
  return refused;
}

function isOurs(message: string): boolean {
  return /^Cannot return null/.test(message);
}

function draw(schema: GraphQLSchema, seed: number, options: DrawOptions): DrawnQuery | undefined {
  const [drawn] = fc.sample(
    fc.gen().map((value) => drawQuery(schema, (end) => value(fc.nat, { max: end - 1 }), options)),
    { seed, numRuns: 1 },
  );
  return drawn && validate(schema, parse(drawn.query)).length === 0 ? drawn : undefined;
}

async function answers(engine: Engine<TestContext>, schema: GraphQLSchema, { query, variables }: DrawnQuery) {
  const document = parse(query);
  const isSubscription = query.startsWith("subscription");
  const whole = async (contextValue: object) => {
    const given = { schema, document, variableValues: variables, contextValue };
    return isSubscription ? inOne(await subscribe(given)) : execute(given);
  };
  const federated = async (context: TestContext) => {
    const given = { document, variables, context };
    return isSubscription ? inOne(await engine.subscribe(given)) : engine.execute(given);
  };
  return { one: await run(whole), first: await run(federated), again: await run(federated) };
}

/** Runs an operation, and reads its result and which mutations ran. */
async function run(answer: (context: TestContext & SyntheticContext) => Promise<ExecutionResult>) {
  const ran: string[] = [];
  return { ...read(await answer({ user: "fuzz", ran })), ran };
}

/** The events of a subscription as one result, in the order of their arrival. */
async function inOne(opened: ExecutionResult | AsyncIterable<ExecutionResult>): Promise<ExecutionResult> {
  if (!(Symbol.asyncIterator in opened)) return opened;
  const data: Record<string, unknown> = {};
  const errors: Failure[] = [];
  let number = 0;
  for await (const event of opened) {
    const key = `event ${++number}`;
    const { data: part, errors: failures = [] }: ExecutionResult = JSON.parse(JSON.stringify(event));
    data[key] = part;
    for (const { path = [], ...failure } of failures as readonly Failure[])
      errors.push({ ...failure, path: [key, ...path] });
  }
  return { data, errors } as unknown as ExecutionResult;
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

/**
 * The place of the null that an error left: of several errors that null one object, each implementation may
 * report another.
 */
function nulledBy(data: unknown, path: readonly (string | number)[]): readonly (string | number)[] {
  let at = data;
  const depth = path.findIndex((key) => {
    if (at === null || at === undefined) return true;
    at = (at as Record<string | number, unknown>)[key];
    return false;
  });
  return depth < 0 ? path : path.slice(0, depth);
}

/**
 * Generates queries in the same way, with `@defer` and `@stream` in random places, and expects that their parts,
 * merged, are the result of the same query without them. Returns how many were delivered in parts, how many with a
 * fragment that failed (there a null stays in the fragment which would otherwise reach the object around it), and how
 * many were refused by name.
 */
export async function expectEqualParts(
  engine: Engine<TestContext>,
  given: { readonly queries: number; readonly options: DrawOptions },
): Promise<{ readonly inParts: number; readonly failed: number; readonly refused: number }> {
  let valid = 0;
  let inParts = 0;
  let failed = 0;
  let refused = 0;
  for (let seed = 1; valid < given.queries; seed++) {
    const drawn = draw(engine.apiSchema, seed, given.options);
    if (!drawn || drawn.hasForbiddenNull) continue;
    valid += 1;
    const document = inRandomParts(engine.apiSchema, parse(drawn.query), seed);
    const context = `seed ${seed}: ${print(document)}\n${JSON.stringify(drawn.variables)}`;
    const request = { document, variables: drawn.variables, context: { user: "ann" } };
    const whole = await engine.execute(request);
    if (whole.data === undefined) {
      expect(whole.errors, context).toMatchObject([{ extensions: { code: "graphql_refused" } }]);
      refused += 1;
      continue;
    }
    const merged = await mergeParts(await engine.executeIncrementally(request)).catch((error: unknown) => {
      throw new Error(`${error} in ${context}`);
    });
    if (merged.parts.length > 0) inParts += 1;
    if (merged.failed.length > 0) {
      failed += 1;
      expect(whole.errors, context).not.toBeUndefined();
      continue;
    }
    expect(merged.data, context).toEqual(JSON.parse(JSON.stringify(whole.data)));
    expect(merged.errors.length > 0, context).toBe((whole.errors ?? []).length > 0);
  }
  return { inParts, failed, refused };
}
