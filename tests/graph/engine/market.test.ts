// @module-tag large
import { execute, type GraphQLSchema, parse, printSchema, validate } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXECUTORS, type Federation, startFederation } from "./support/federation.ts";
import { type Literals, randomQuery } from "./support/random-query.ts";
import { MARKET_QUERIES, type MarketQuery } from "./topics/market/queries.ts";
import { market, monolith } from "./topics/market/subgraphs.ts";

/** Fewer over HTTP: only the transport differs there. */
const RANDOM_QUERIES = { local: 150, remote: 25 } as const;
const LITERALS: Literals = {
  "Query.user": ['id: "u1"', 'id: "u2"', 'id: "nope"'],
  "Query.product": ['upc: "p1"', 'upc: "p2"'],
  "Query.search": ['text: "1"', 'text: "u"', 'text: "nothing"'],
  "Query.nodes": ['ids: ["u1", "r1", "nope"]', "ids: []"],
  "Query.products": ["first: 2", "kind: BOOK"],
  "Query.reviews": ["where: { minStars: 2 }"],
  "Query.echo": ["value: { n: 1 }"],
  "User.reviews": ["first: 1"],
  "User.greeting": ['word: "Hi"'],
  "Product.price": ['currency: "EUR"'],
};

const toCase = ([title, query, variables]: MarketQuery) => ({ title, query, variables });

describe.each(EXECUTORS)("the market as subgraphs answers as it does as one schema, %s", (kind) => {
  let federation: Federation;
  let whole: GraphQLSchema;
  beforeAll(async () => {
    federation = await startFederation(market, kind);
    whole = monolith(printSchema(federation.engine.apiSchema));
  });
  afterAll(() => federation.close());

  /** The data, and where something failed. */
  const answers = async (query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const document = parse(query);
    expect(validate(whole, document)).toEqual([]);
    const one = await execute({ schema: whole, document, variableValues: variables });
    const many = await federation.engine.execute({ document, variables, context: { user: kind } });
    const read = (result: object) => {
      const { data, errors = [] } = JSON.parse(JSON.stringify(result));
      const paths = errors.map(({ path }: { path: unknown }) => JSON.stringify(path));
      return { data, failed: [...new Set<string>(paths)].sort() };
    };
    return { one: read(one), many: read(many) };
  };

  describe.each(Object.entries(MARKET_QUERIES))("%s", (_, queries) => {
    test.each(queries.map(toCase))("$title", async ({ query, variables }) => {
      const { one, many } = await answers(query, variables);
      expect(many).toEqual(one);
    });
  });

  test(`${RANDOM_QUERIES[kind]} random queries`, async () => {
    for (let seed = 1; seed <= RANDOM_QUERIES[kind]; seed++) {
      const query = randomQuery(whole, LITERALS, seed);
      const { one, many } = await answers(query);
      expect(many.data, `seed ${seed}: ${query}`).toEqual(one.data);
    }
  });
});
