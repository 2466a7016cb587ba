// @module-tag large
import fc from "fast-check";
import { isScalarType, isSpecifiedScalarType, parse, validate } from "graphql";
import { expect, onTestFinished, test } from "vitest";
import { openGraph } from "../../../gateway/federation/graph.ts";
import type { Principal } from "../../../src/keys/auth/principal.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { drawQuery } from "../engine/support/valid-query.ts";

const QUERIES = 500;
const TEXTS: Readonly<Record<string, string>> = {
  Address: `0x${"11".repeat(20)}`,
  BigInt: "123456789012345678901234567890",
  Cursor: "nope",
  DateTime: "2026-01-31T12:00:00.000Z",
  Hash32: `0x${"22".repeat(32)}`,
  Hex: "0x1234",
  Neuron: "1000000000000000000000",
};
const stack = useStack();

test(`${QUERIES} generated queries over the product's graph are planned, and answered without an internal error`, async () => {
  const { app } = stack();
  const graph = await openGraph({ kind: "local", app }, app);
  onTestFinished(() => graph.close());
  const scalars = Object.values(graph.apiSchema.getTypeMap()).filter(isScalarType);
  const values = Object.fromEntries(
    scalars
      .filter((type) => !isSpecifiedScalarType(type))
      .map(({ name }) => [name, [{ literal: JSON.stringify(TEXTS[name] ?? "x"), json: TEXTS[name] ?? "x" }]]),
  );
  const { account } = await seedAccount(app.database, 1_000_000n);
  const principal: Principal = {
    kind: "wallet-session",
    account,
    sessionId: "00000000-0000-4000-8000-000000000000",
  };
  const failures: string[] = [];
  let valid = 0;
  for (let seed = 1; valid < QUERIES; seed++) {
    const arbitrary = fc.gen().map((value) =>
      drawQuery(graph.apiSchema, (end) => value(fc.nat, { max: end - 1 }), {
        values,
        depth: 4,
        maxFields: 25,
      }),
    );
    const [drawn] = fc.sample(arbitrary, { seed, numRuns: 1 });
    if (!drawn) continue;
    const document = parse(drawn.query);
    if (validate(graph.apiSchema, document).length > 0) continue;
    valid += 1;
    const { errors = [] } = await graph.engine.execute({
      document,
      variables: drawn.variables,
      context: { principal },
    });
    const failed = errors.filter(
      ({ extensions: { code } }) => code === "internal_error" || code === "graphql_refused",
    );
    if (failed.length > 0)
      failures.push(
        `seed ${seed}: ${JSON.stringify(failed)}\n${drawn.query}\n${JSON.stringify(drawn.variables)}`,
      );
  }
  expect(failures).toEqual([]);
});
