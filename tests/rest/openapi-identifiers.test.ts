import { expect, test } from "vitest";
import { toOpenApi } from "../../src/rest/openapi/openapi.ts";
import { routes } from "../../src/rest/routes.ts";
import { METHODS } from "../../src/rest/rpc/call.ts";
import { type OpenApi, OpenApiCheck } from "../support/clients/openapi.ts";

/** Generators write a class for each component. These names are their own or the language's. */
const USED_BY_GENERATORS = [
  ...["Any", "Array", "Blob", "Boolean", "Date", "Enum", "Error", "Exception", "File", "Headers", "List"],
  ...["Map", "Null", "Number", "Object", "Option", "Optional", "Promise", "Record", "Result", "Set"],
  ...["String", "Type", "Union", "URL", "Void"],
  ...["ApiClient", "ApiError", "ApiException", "ApiResponse", "AuthenticatedClient", "BaseModel", "Client"],
  ...["Configuration", "FileTypes", "HTTPError", "Request", "RequestOptions", "Response", "Unset"],
];

const document = toOpenApi(routes) as OpenApi;
const check = new OpenApiCheck(document);

test("no two values of an enumeration become the same identifier", () => {
  const enums = enumsOf(document);
  expect(enums.length).toBeGreaterThan(20);
  expect(enums.flatMap(sameIdentifiers)).toEqual([]);
});

test("no two fields of an object become the same identifier", () => {
  const objects = objectsOf(document).flatMap(({ properties }) => (isObject(properties) ? [properties] : []));
  expect(objects.length).toBeGreaterThan(50);
  expect(objects.flatMap((properties) => sameIdentifiers(Object.keys(properties)))).toEqual([]);
});

test("no two components or operations become the same identifier", () => {
  const ids = check.operations.map(([, { operationId }]) => operationId);
  expect(sameIdentifiers(Object.keys(document.components.schemas))).toEqual([]);
  expect(sameIdentifiers(ids)).toEqual([]);
});

test("no component has a name that generators or their languages use", () => {
  const used = new Set(USED_BY_GENERATORS.map(identifierOf));
  const names = Object.keys(document.components.schemas);
  expect(names.filter((name) => used.has(identifierOf(name)))).toEqual([]);
});

test("no two parameters of an operation become the same identifier, except a list and its alias", () => {
  const lists = check.operations.flatMap(([name, { parameters }]) =>
    sameIdentifiers(parameters.map((parameter) => parameter.name)).map((names) => [name, ...names]),
  );
  expect(lists).toEqual([
    ["GET /v1/models", "provider_address", "provider_address[]"],
    ["GET /v1/models", "input_modality", "input_modality[]"],
    ["GET /v1/models", "supported_parameter", "supported_parameter[]"],
  ]);
});

test("every method of JSON-RPC is published, also those with two spellings", () => {
  const { takes } = check.bodyOf("POST /", "application/json");
  const calls = Object.keys(METHODS).map((method) => ({ jsonrpc: "2.0", id: 1, method }));
  expect(calls.filter((call) => !takes(call) || !takes([call]))).toEqual([]);
  expect(calls.map(({ method }) => method)).toEqual(expect.arrayContaining(["kv_isAdmin", "kv_IsAdmin"]));
  expect(takes({ jsonrpc: "2.0", id: 1, method: "kv_ISADMIN" })).toBe(false);
});

/** Groups of names that are equal without their case and punctuation. */
function sameIdentifiers(names: readonly string[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(names, identifierOf);
  return [...groups.values()].filter(({ length }) => length > 1);
}

function identifierOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function enumsOf(value: unknown): readonly (readonly string[])[] {
  return objectsOf(value).flatMap((schema) => (Array.isArray(schema.enum) ? [schema.enum.map(String)] : []));
}

/** A value's objects, at any depth. */
function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (Array.isArray(value)) return value.flatMap(objectsOf);
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsOf)] : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
