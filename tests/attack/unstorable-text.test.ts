// @module-tag large
import {
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isScalarType,
  parse,
} from "graphql";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { openGraph } from "../../gateway/federation/graph.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { routes } from "../../src/rest/routes.ts";
import { CALLERS, CallerFixture } from "../support/callers.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

/** Texts that PostgreSQL refuses: the first everywhere, the others in JSON. */
const TEXTS = ["\0", "a\0b", "\ud800", "\udc00\ud800"] as const;

/** One credential of each kind, with all permissions. */
let bearers: readonly string[];
beforeEach(async () => {
  const { app } = stack();
  const { home } = await CallerFixture.open(app, 10n ** 18n);
  const management = await app.managementKeys.create(home.account, newId(), SCOPES);
  const session = CALLERS.find(({ endsByCalls, foreign }) => endsByCalls && !foreign);
  bearers = [home.secret, management.secret, (await session?.secret(app, home)) ?? ""];
});

describe.each(routes)("$method $url", ({ method, url, query, bodies }) => {
  const fill = (text: string) => url.replaceAll(/:\w+|\*/g, encode(text));
  const fields = Object.keys(shapeOf(query));
  const members = Object.keys(shapeOf(bodies["application/json"]));

  test("is answered without an internal error, whatever its texts contain", async () => {
    const calls = TEXTS.flatMap((text) => [
      { target: fill(text), payload: {} },
      ...fields.map((field) => ({ target: `${fill("1")}?${field}=${encode(text)}`, payload: {} })),
      ...members.flatMap((member) =>
        [text, [text], { [text]: text }].map((value) => ({
          target: fill("1"),
          payload: { [member]: value },
        })),
      ),
    ]);
    for (const bearer of bearers)
      for (const { target, payload } of calls) {
        const reply = await stack().server.inject({
          method,
          url: target,
          headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
          ...(method !== "GET" && { payload: JSON.stringify(payload) }),
        });
        const shown = `${target} ${JSON.stringify(payload)}: ${reply.payload.slice(0, 300)}`;
        expect([reply.statusCode < 500 || reply.statusCode === 503, shown]).toEqual([true, shown]);
        expect(reply.payload, shown).not.toContain("internal_error");
      }
  });
});

test("every root field of the graph is answered without an internal error, whatever its texts contain", async () => {
  const { app } = stack();
  const graph = await openGraph({ kind: "local", app }, app);
  const principals = await Promise.all(bearers.map((bearer) => app.authenticate(`Bearer ${bearer}`)));
  const schema = graph.apiSchema;
  const failures: unknown[] = [];
  let asked = 0;
  try {
    for (const [kind, type] of [
      ["query", schema.getQueryType()],
      ["mutation", schema.getMutationType()],
    ] as const)
      for (const field of Object.values(type?.getFields() ?? {}))
        for (const text of TEXTS) {
          if (!field.args.some(({ type: argument }) => hasText(argument))) continue;
          const variables = Object.fromEntries(field.args.map((arg) => [arg.name, sampleOf(arg.type, text)]));
          const selection = isLeafType(getNamedType(field.type)) ? "" : "{ __typename }";
          const declared = field.args.map((arg) => `$${arg.name}: ${arg.type}`).join(", ");
          const given = field.args.map((arg) => `${arg.name}: $${arg.name}`).join(", ");
          const document = parse(`${kind} (${declared}) { ${field.name}(${given}) ${selection} }`);
          for (const principal of principals) {
            asked++;
            const { errors = [] } = await graph.engine.execute({
              document,
              variables,
              context: { principal },
            });
            for (const { message, extensions } of errors)
              if (extensions.code === "internal_error" || extensions.code === "graphql_refused")
                failures.push([field.name, text, principal.kind, message]);
          }
        }
  } finally {
    await graph.close();
  }
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(100);
});

function encode(text: string): string {
  // A lone surrogate has no URL encoding: its bytes are not UTF-8.
  return text.isWellFormed() ? encodeURIComponent(text) : "%ED%A0%80";
}

function shapeOf(schema: z.ZodType | undefined): object {
  return schema instanceof z.ZodObject ? schema.shape : {};
}

function hasText(type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  if (isInputObjectType(named)) return Object.values(named.getFields()).some((field) => isText(field.type));
  return isText(type);
}

function isText(type: GraphQLInputType): boolean {
  return ["String", "ID"].includes(getNamedType(type).name);
}

const VALUES: Readonly<Record<string, unknown>> = {
  ...{ Int: 1, Float: 1, Boolean: true, Cursor: null, BigInt: "1", Neuron: "1", Hex: "0x12" },
  ...{
    Address: `0x${"11".repeat(20)}`,
    Hash32: `0x${"22".repeat(32)}`,
    DateTime: "2026-01-31T12:00:00.000Z",
  },
};

/** A value with `text` wherever a text may be. */
function sampleOf(type: GraphQLInputType, text: string, depth = 0): unknown {
  if (isNonNullType(type)) return sampleOf(type.ofType, text, depth);
  if (isListType(type)) return [sampleOf(type.ofType, text, depth)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (isScalarType(type)) return isText(type) ? text : (VALUES[type.name] ?? null);
  const fields = Object.values(type.getFields());
  const used = type.isOneOf ? fields.slice(0, 1) : fields;
  return depth > 4
    ? undefined
    : Object.fromEntries(used.map((field) => [field.name, sampleOf(field.type, text, depth + 1)]));
}
