import { readFileSync } from "node:fs";
import {
  buildSchema,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from "graphql";
import { describe, expect, test } from "vitest";
import { type Counterpart, EVERYWHERE, HEADERS, type Parity } from "./counterparts.ts";
import { ACCOUNTS } from "./rest-accounts.ts";
import { INFERENCE } from "./rest-inference.ts";
import { STORAGE } from "./rest-storage.ts";

type Schema = {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema | boolean;
} & { readonly [Name in "allOf" | "anyOf" | "oneOf"]?: readonly Schema[] };
type Content = { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
type Endpoint = {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
};

const METHODS = ["get", "post", "put", "patch", "delete"];
const openApi = JSON.parse(readFileSync("schema/openapi.json", "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
};
const graph = buildSchema(readFileSync("schema/api.graphql", "utf8"));
const TABLE: Readonly<Record<string, Parity>> = { ...INFERENCE, ...ACCOUNTS, ...STORAGE };
const ENDPOINTS = new Map(
  Object.entries(openApi.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, endpoint]) => [`${method.toUpperCase()} ${path}`, endpoint] as const),
  ),
);

/** What a reference of OpenAPI points to. */
function resolved<T extends object>(value: T): T {
  if (!("$ref" in value) || typeof value.$ref !== "string") return value;
  let found: unknown = openApi;
  for (const name of value.$ref.split("/").slice(1)) found = (found as Record<string, unknown>)[name];
  return resolved(found as T);
}

/** The dotted paths of the members of a schema that have no members of their own. */
function membersOf(schema: Schema | undefined, prefix = ""): readonly string[] {
  if (!schema) return [];
  const { properties = {}, items, allOf = [], anyOf = [], oneOf = [] } = resolved(schema);
  const own = Object.entries(properties).flatMap(([name, member]) => {
    const inner = membersOf(member, `${prefix}${name}.`);
    return inner.length > 0 ? inner : [prefix + name];
  });
  const variants = [...allOf, ...anyOf, ...oneOf, ...(typeof items === "object" ? [items] : [])];
  return [...own, ...variants.flatMap((variant) => membersOf(variant, prefix))];
}

/** Every member of the requests and the successful answers of an endpoint. */
function allMembers({ parameters = [], requestBody, responses }: Endpoint): readonly string[] {
  const query = parameters.map((one) => resolved(one)).filter((parameter) => parameter.in === "query");
  const answers = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const bodies = [requestBody, ...answers.map(([, answer]) => answer)].flatMap((body) =>
    Object.values((body && resolved(body))?.content ?? {}),
  );
  return [
    ...new Set([...query.map(({ name }) => name), ...bodies.flatMap(({ schema }) => membersOf(schema))]),
  ];
}

function fieldNames(type: GraphQLNamedType | undefined): readonly string[] {
  return isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)
    ? Object.keys(type.getFields())
    : [];
}

/** Whether the graph has a coordinate: `Type.field`, `Type.field(argument)`, or a value of an enum. */
function exists(coordinate: string): boolean {
  const [, typeName = "", name = "", argument] = /^(\w+)\.(\w+)(?:\((\w+)\))?$/.exec(coordinate) ?? [];
  const type = graph.getType(typeName);
  if (isEnumType(type)) return type.getValue(name) !== undefined;
  if (!fieldNames(type).includes(name)) return false;
  if (argument === undefined) return true;
  return isObjectType(type) && (type.getFields()[name]?.args.some((one) => one.name === argument) ?? false);
}

function isFound(counterpart: Counterpart): boolean {
  return typeof counterpart === "string" ? exists(counterpart) : counterpart.reason !== "";
}

/** The counterpart of a member: of its own path, of a path that ends in `.*`, by its name, or in camel case. */
function counterpartOf(member: string, { types = [], members = {} }: Exclude<Parity, { reason: string }>) {
  const name = member.split(".").at(-1) ?? member;
  const group = Object.keys(members).find(
    (path) => path.endsWith(".*") && member.startsWith(path.slice(0, -1)),
  );
  const stated =
    members[member] ?? (group && members[group]) ?? EVERYWHERE[member] ?? members[name] ?? EVERYWHERE[name];
  if (stated) return stated;
  const camel = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const type = types.find((one) => fieldNames(graph.getType(one)).includes(camel));
  return type && `${type}.${camel}`;
}

test("members are read from OpenAPI as deep as they are", () => {
  const found = [...ENDPOINTS.values()].flatMap(allMembers);
  expect(found).toEqual(
    expect.arrayContaining(["messages.role", "x_0g_trace.tee_evidence.form", "receipt.usage.units", "cid"]),
  );
  expect(found.length).toBeGreaterThan(400);
});

test("every endpoint of REST has a counterpart in the graph, or the reason that it has none", () => {
  expect([...ENDPOINTS.keys()].toSorted()).toEqual(Object.keys(TABLE).toSorted());
});

describe.each([...ENDPOINTS])("%s", (name, endpoint) => {
  const parity = TABLE[name];

  test("is in the graph with everything that it takes and answers", () => {
    if (!parity || "reason" in parity) return;
    const { fields, types = [], members = {} } = parity;
    expect(fields.filter((field) => !exists(field))).toEqual([]);
    expect(types.filter((type) => !graph.getType(type))).toEqual([]);
    const found = allMembers(endpoint);
    const lacking = found.filter((member) => {
      const counterpart = counterpartOf(member, parity);
      return counterpart === undefined || !isFound(counterpart);
    });
    expect(lacking).toEqual([]);
    expect(Object.values(members).filter((one) => !isFound(one))).toEqual([]);
  });

  test("takes only headers that the graph has as members of inputs", () => {
    if (!parity || "reason" in parity) return;
    const headers = (endpoint.parameters ?? [])
      .map(resolved)
      .filter((parameter) => parameter.in === "header");
    const lacking = headers.filter((header) => {
      const counterpart = HEADERS[header.name.toLowerCase()];
      return counterpart === undefined || !isFound(counterpart);
    });
    expect(lacking).toEqual([]);
  });
});

test("every member that is always the same has a counterpart that exists", () => {
  expect(Object.entries({ ...EVERYWHERE, ...HEADERS }).filter(([, one]) => !isFound(one))).toEqual([]);
});
