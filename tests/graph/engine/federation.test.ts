// @module-tag medium
import { type DocumentNode, type GraphQLFormattedError, type GraphQLSchema, parse, validate } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXECUTORS, type ExecutorKind, type Federation, startFederation } from "./support/federation.ts";
import type { Case, Topic } from "./support/topic.ts";
import { abstractTypes } from "./topics/abstract-types/topic.ts";
import { conditions } from "./topics/conditions/topic.ts";
import { entityErrors } from "./topics/entity-errors/topic.ts";
import { inaccessible } from "./topics/inaccessible/topic.ts";
import { interfaceObjects } from "./topics/interface-objects/topic.ts";
import { introspection } from "./topics/introspection/topic.ts";
import { keys } from "./topics/keys/topic.ts";
import { mutations } from "./topics/mutations/topic.ts";
import { nulls } from "./topics/nulls/topic.ts";
import { ownership } from "./topics/ownership/topic.ts";
import { requires } from "./topics/requires/topic.ts";
import { selections } from "./topics/selections/topic.ts";
import { subgraphDown } from "./topics/subgraph-down/topic.ts";
import { values } from "./topics/values/topic.ts";

const TOPICS: readonly Topic[] = [
  keys,
  selections,
  abstractTypes,
  interfaceObjects,
  nulls,
  entityErrors,
  requires,
  ownership,
  inaccessible,
  conditions,
  mutations,
  introspection,
  subgraphDown,
  values,
];

const suites = TOPICS.flatMap((topic) => EXECUTORS.map((kind) => ({ topic, kind, title: topic.title })));

describe.each(suites)("$title, $kind", ({ topic, kind }) => {
  let federation: Federation;
  beforeAll(async () => {
    federation = await startFederation(topic.subgraphs, kind);
  });
  afterAll(() => federation.close());

  test.each(topic.cases)("$title", async (one) => {
    await check(federation, one, kind);
  });
});

async function check(federation: Federation, one: Case, kind: ExecutorKind): Promise<void> {
  const engine = one.down ? federation.without(...one.down) : federation.engine;
  const document = parseValid(one.query, engine.apiSchema);
  federation.asked.length = 0;
  const { operationName, variables } = one;
  const result = await engine.execute({ document, operationName, variables, context: { user: kind } });
  const { data, errors = [] } = JSON.parse(JSON.stringify(result));
  const expected = (one.errors ?? []).map(({ path, code, message }) => {
    return { path, code, message: message ?? expect.any(String) };
  });
  expect({ data, errors: byPath(errors.map(toSeen)) }).toEqual({ data: one.data, errors: byPath(expected) });
  if (one.asked) expect(countAsked(federation)).toEqual(one.asked);
}

type Seen = { readonly path: unknown; readonly code: unknown; readonly message: unknown };

function toSeen({ path, message, extensions }: GraphQLFormattedError): Seen {
  return { path, code: extensions?.code, message };
}

function byPath(errors: readonly Seen[]): Seen[] {
  const key = ({ path }: Seen) => JSON.stringify(path) ?? "";
  return errors.toSorted((first, second) => key(first).localeCompare(key(second)));
}

function parseValid(query: string, schema: GraphQLSchema): DocumentNode {
  const document = parse(query);
  expect(validate(schema, document)).toEqual([]);
  return document;
}

function countAsked({ asked }: Federation): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { subgraph } of asked) counts[subgraph] = (counts[subgraph] ?? 0) + 1;
  return counts;
}
