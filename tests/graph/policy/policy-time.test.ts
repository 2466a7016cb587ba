// @module-tag large
import { readFileSync } from "node:fs";
import { getNamedType, getNullableType, isInputObjectType, isLeafType, isListType } from "graphql";
import { describe, expect, test } from "vitest";
import { readSupergraph } from "../../../gateway/federation/engine/planning/api-schema.ts";
import { InputLimits, LIST_ITEMS, TEXT_BYTES } from "../../../gateway/federation/policy/input-limits.ts";
import { createPolicy, type OperationPayload } from "../../../gateway/federation/policy/policy.ts";
import { GRAPH_LIMITS } from "../../../src/graph-limits.ts";
import { ByteLru } from "../../../src/kernel/byte-lru.ts";
import { checkScalars } from "../../../subgraphs/shared/schema/scalars.ts";
import { timeTurn } from "../../support/attack/event-loop.ts";

const supergraphSdl = readFileSync("schema/supergraph.graphql", "utf8");
const schema = readSupergraph(supergraphSdl).api;
checkScalars(schema);
const newPolicy = (introspection = true) =>
  createPolicy({ schema, supergraph: supergraphSdl, limits: GRAPH_LIMITS, introspection });

const times = (count: number, text: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => text(n)).join(" ");
/** The removal of a part of a document. */
const FILL = GRAPH_LIMITS.documentBytes - 200;
const BODY = GRAPH_LIMITS.bodyBytes - 2_000;
const bomb = (levels: number) =>
  `${times(levels, (n) => `fragment f${n} on Network { ...f${n + 1} ...f${n + 1} }`)} fragment f${levels} on Network { name }`;
const NOBODY = `0x${"1".repeat(40)}`;
const CHAT =
  "mutation ($i: CompleteChatInput!) { completeChat(input: $i) { completion { bill { requestId } } } }";
const message = { role: "user", content: "x" };
const nest = (levels: number): unknown => (levels === 0 ? 1 : [nest(levels - 1)]);

const WORST: Readonly<Record<string, OperationPayload>> = {
  "more variables than allowed": { query: `query (${times(400, () => "$a: Int")}) { __typename }` },
  comments: { query: `{ __typename }${"#\n".repeat(FILL / 2)}` },
  "empty lines": { query: `{ __typename ${"\n".repeat(FILL)}}` },
  "errors after empty lines": { query: `${"\n".repeat(FILL)}{ ${times(10, (n) => `z${n}`)} }` },
  "errors after comments": { query: `${"#\n".repeat(FILL / 2)}{ ${times(10, (n) => `z${n}`)} }` },
  "duplicate variables after empty lines": {
    query: `${"\n".repeat(FILL - 4_000)}query (${times(GRAPH_LIMITS.variables, () => "$a: Int")}) { __typename }`,
  },
  "a block string of empty lines": { query: `{ model(id: """${"\n".repeat(FILL)}""") { id } }` },
  "a long string": { query: `{ model(id: "${"x".repeat(FILL)}") { id } }` },
  "a document above its limit": { query: `{ __typename ${"\n".repeat(BODY)}}` },
  "a long name": { query: `{ ${"x".repeat(FILL)} }` },
  "as many of the longest names as fit": {
    query: `{ ${times(FILL / 257, (n) => `${"x".repeat(250)}${String(n).padStart(6, "0")}`)} }`,
  },
  "unknown fields with the longest names": {
    query: `{ network { ${times(60, (n) => `${"x".repeat(250)}${n}`)} } }`,
  },
  "unknown arguments with the longest names": {
    query: `{ viewer { account { requests(${times(60, (n) => `${"first".repeat(50)}${n}: 1`)}) { totalCount } } } }`,
  },
  "unknown types with the longest names": {
    query: `query (${times(60, (n) => `$v${n}: ${"Account".repeat(35)}${n}`)}) { __typename }`,
  },
  "a long text in place of an enum of many values": {
    query: `{ viewer { account { requests(filter: { errorCode: "${"invalid_".repeat(FILL / 9)}" }) { totalCount } } } }`,
  },
  "long texts in place of an enum of many values": {
    query: `{ viewer { account { requests(filter: { errorCode: [${times(15, () => `"${"invalid_".repeat(500)}"`)}] }) { totalCount } } } }`,
  },
  "long texts in place of an enum of many values, in variables": {
    query:
      "query ($c: [ErrorCode!]!) { viewer { account { requests(filter: { errorCode: $c }) { totalCount } } } }",
    variables: { c: Array.from({ length: 100 }, () => "invalid_".repeat(512)) },
  },
  "the longest text in place of an enum of many values, in a variable": {
    query:
      "query ($c: ErrorCode!) { viewer { account { requests(filter: { errorCode: $c }) { totalCount } } } }",
    variables: { c: "invalid_".repeat(512) },
  },
  "one more operation for every few tokens": {
    query: `${times(150, (n) => `query Q${n} { network { ...f0 } }`)} ${bomb(9)}`,
    operationName: "Q7",
  },
  "operations that share fragments": {
    query: `${times(90, (n) => `query Q${n}($a: Int) { ...g0 }`)} ${times(60, (n) => `fragment g${n} on Query { __typename ...g${n + 1} }`)} fragment g60 on Query { models(first: $a) { nodes { id } } }`,
    operationName: "Q7",
  },
  "many variables": {
    query: `query (${times(GRAPH_LIMITS.variables, (n) => `$v${n}: Int`)}) { ${times(10, (n) => `a${n}: models(first: $v${n}) { nodes { id } }`)} }`,
  },
  "many undeclared variables": {
    query: "{ __typename }",
    variables: Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`v${n}`, n])),
  },
  "one field repeatedly, in fragments": {
    query: `{ network { ${times(48, () => "...f0 name")} } } ${bomb(4)}`,
  },
  "a list as large as the body": {
    query: `query ($ids: [Int!]!) { prepareRevokeTokens(provider: "${NOBODY}", tokenIds: $ids) { data } }`,
    variables: { ids: Array.from({ length: 250_000 }, () => 1) },
  },
  "unknown members, as large as the body": {
    query: CHAT,
    variables: { i: Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`member${n}`, n])) },
  },
  "messages with unknown members": {
    query: CHAT,
    variables: {
      i: {
        model: "m",
        messages: Array.from({ length: 1_000 }, () => ({ ...message, a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })),
      },
    },
  },
  "as many messages as allowed": {
    query: CHAT,
    variables: {
      i: {
        model: "m",
        messages: Array.from({ length: 1_000 }, () => ({ ...message, content: "x".repeat(400) })),
      },
    },
  },
  "messages that are all invalid": {
    query: CHAT,
    variables: {
      i: { model: "m", messages: Array.from({ length: 1_000 }, () => ({ role: 1, content: [] })) },
    },
  },
  "deeply nested JSON": {
    query: CHAT,
    variables: { i: { model: "m", messages: [message], options: { a: nest(5_000) } } },
  },
  "a value as large as the body in place of an enum": {
    query: "query ($s: ServiceType!) { routingPreview(serviceType: $s) { __typename } }",
    variables: { s: "X".repeat(BODY) },
  },
};

describe("any document that a client may send is decided within 50 ms", () => {
  test.each(Object.entries(WORST))("%s", (_, payload) => {
    for (const introspection of [true, false]) {
      newPolicy(introspection).admit({ query: "{ __typename network { name } }" });
      // The minimum of three: a garbage collection is not the policy's time.
      const tries = [1, 2, 3].map(() => {
        const policy = newPolicy(introspection);
        const { ms, result: verdict } = timeTurn(() => policy.admit(payload));
        return { ms, againMs: timeTurn(() => policy.admit(payload)).ms, verdict };
      });
      const ms = Math.min(...tries.map((one) => one.ms));
      const againMs = Math.min(...tries.map((one) => one.againMs));
      if (process.env.SHOW)
        process.stderr.write(
          `${_} ${introspection} ${ms.toFixed(1)} ${againMs.toFixed(1)} ${"document" in (tries[0]?.verdict ?? {}) ? "good" : JSON.stringify(tries[0]?.verdict).slice(0, 150)}\n`,
        );
      expect(ms).toBeLessThan(50);
      expect(againMs).toBeLessThan(50);
      const [first] = tries;
      if (first && !("document" in first.verdict))
        expect(JSON.stringify(first.verdict).length).toBeLessThan(20_000);
    }
  });
});

describe("the caches are bounded in bytes", () => {
  test("the oldest entry is evicted when all are too large, and a very large one is not kept", () => {
    const kept = new ByteLru<number>({ maxEntries: 3, maxBytes: 800 });
    for (let n = 0; n < 4; n++) kept.set(`k${n}`, n, 10);
    expect([kept.get("k0"), kept.get("k1"), kept.get("k3")]).toEqual([undefined, 1, 3]);
    for (let n = 0; n < 20; n++) kept.set(`k${n}`, n, 100);
    expect(kept.sizeBytes).toBeLessThanOrEqual(800);
    kept.set("huge", 1, 101);
    expect(kept.get("huge")).toBeUndefined();
    kept.set("k19", 5, 100);
    kept.delete("k19");
    expect(kept.get("k19")).toBeUndefined();
  });

  test("thousands of the largest documents take no more memory than the bound", () => {
    const policy = newPolicy();
    const gc = globalThis.gc;
    const text = (n: number) => `{ a${n}: __typename } ${"#".repeat(FILL)}`;
    for (let n = 0; n < 50; n++) policy.admit({ query: text(n) });
    gc?.();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 2_000; n++) policy.admit({ query: text(n) });
    gc?.();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(128 * 1_048_576);
  });
});

describe("every argument of the graph is bounded", () => {
  const limits = new InputLimits(GRAPH_LIMITS);
  const coordinates = Object.values(schema.getTypeMap())
    .filter(({ name }) => !name.startsWith("__"))
    .flatMap((type) => {
      if (isInputObjectType(type))
        return Object.values(type.getFields()).map(
          (field) => [`${type.name}.${field.name}`, field.type] as const,
        );
      if (!("getFields" in type)) return [];
      return Object.values(type.getFields()).flatMap((field) =>
        "args" in field
          ? field.args.map(
              (argument) => [`${type.name}.${field.name}(${argument.name})`, argument.type] as const,
            )
          : [],
      );
    });

  test("each list has a maximum length, and one more item is refused by its name", () => {
    const lists = coordinates.filter(([, type]) => isListType(getNullableType(type)));
    expect(lists.length).toBeGreaterThan(15);
    for (const [coordinate, type] of lists) {
      const most = limits.itemsAt(coordinate);
      expect(most).toBeLessThanOrEqual(1_000);
      const refusal = limits.refuseValue(
        Array.from({ length: most + 1 }, () => null),
        type,
        coordinate,
      );
      expect([coordinate, refusal?.extensions]).toEqual([
        coordinate,
        { code: "graphql_refused", limit: "listItems", most, param: /(\w+)\)?$/.exec(coordinate)?.[1] },
      ]);
      expect(
        limits.refuseValue(
          Array.from({ length: most }, () => null),
          type,
          coordinate,
        ),
      ).toBeUndefined();
    }
  });

  test("each text has a maximum length, and one more byte is refused by its name", () => {
    const leaves = coordinates.filter(
      ([, type]) => isLeafType(getNamedType(type)) && getNamedType(type).name !== "JSON",
    );
    expect(leaves.length).toBeGreaterThan(200);
    for (const [coordinate, type] of leaves) {
      const most = limits.bytesAt(coordinate);
      const text = "ä".repeat(most / 2);
      expect([coordinate, limits.refuseValue(`${text}x`, type, coordinate)?.extensions.limit]).toEqual([
        coordinate,
        "textBytes",
      ]);
      expect(limits.refuseValue(text, type, coordinate)).toBeUndefined();
    }
  });

  test("every exception names an existing argument", () => {
    const known = new Set<string>(coordinates.map(([coordinate]) => coordinate));
    for (const coordinate of [...Object.keys(LIST_ITEMS), ...Object.keys(TEXT_BYTES)])
      expect([coordinate, known.has(coordinate)]).toEqual([coordinate, true]);
  });

  test.each<[string, OperationPayload, string]>([
    [
      "a list in the document",
      {
        query: `{ prepareRevokeTokens(provider: "${NOBODY}", tokenIds: [${times(257, () => "1")}]) { data } }`,
      },
      "tokenIds",
    ],
    [
      "a list in a variable",
      {
        query: `query ($t: [Int!]!) { prepareRevokeTokens(provider: "${NOBODY}", tokenIds: $t) { data } }`,
        variables: { t: Array(257).fill(1) },
      },
      "tokenIds",
    ],
    [
      "a list in a variable of a fragment",
      {
        query: `query ($t: [Int!]!) { ...f } fragment f on Query { prepareRevokeTokens(provider: "${NOBODY}", tokenIds: $t) { data } }`,
        variables: { t: Array(257).fill(1) },
      },
      "tokenIds",
    ],
    [
      "a list by default",
      {
        query: `query ($t: [Int!]! = [${times(257, () => "1")}]) { prepareRevokeTokens(provider: "${NOBODY}", tokenIds: $t) { data } }`,
      },
      "tokenIds",
    ],
    [
      "a list in an input",
      { query: CHAT, variables: { i: { model: "m", messages: Array(1_001).fill(message) } } },
      "messages",
    ],
    ["a text in the document", { query: `{ model(id: "${"x".repeat(4_097)}") { id } }` }, "id"],
    [
      "a text in a variable",
      { query: "query ($id: ID!) { model(id: $id) { id } }", variables: { id: "x".repeat(4_097) } },
      "id",
    ],
    [
      "a cursor",
      {
        query: "query ($a: Cursor) { models(after: $a) { nodes { id } } }",
        variables: { a: "x".repeat(4_097) },
      },
      "after",
    ],
    [
      "JSON that is too deep",
      { query: CHAT, variables: { i: { model: "m", messages: [message], options: { a: nest(64) } } } },
      "options",
    ],
  ])("%s that is too long is refused", (_, payload, param) => {
    const verdict = newPolicy().admit(payload);
    expect("document" in verdict ? [] : verdict.map(({ extensions }) => extensions)).toMatchObject([
      { code: "graphql_refused", param },
    ]);
  });
});
