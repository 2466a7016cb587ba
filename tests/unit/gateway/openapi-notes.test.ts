import { expect, test } from "vitest";
import { toOpenApi } from "../../../src/rest/openapi/openapi.ts";
import { NOTES } from "../../../src/rest/openapi/openapi-notes.ts";
import { TAGS, tagOf } from "../../../src/rest/openapi/openapi-tags.ts";
import { routes } from "../../../src/rest/routes.ts";

test("every tag has endpoints, and every note belongs to a mounted endpoint", () => {
  const mounted = routes.map(({ method, url }) => `${method} ${url}`);
  for (const place of Object.keys(NOTES)) expect(mounted).toContain(place);
  expect(new Set(routes.map(tagOf))).toEqual(new Set(TAGS.map(({ name }) => name)));
});

test("every endpoint has a summary and a description that says more", () => {
  for (const { method, url, summary } of routes) {
    const { description = "" } = NOTES[`${method} ${url}`] ?? {};
    expect(description.length, `${method} ${url}`).toBeGreaterThan(20);
    expect(description).not.toContain(summary);
  }
});

test("every list of a schema says what it has", () => {
  const open: string[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    if ("type" in value && value.type === "array" && !("items" in value) && !("prefixItems" in value))
      open.push(path);
    for (const [name, inner] of Object.entries(value)) look(inner, `${path}.${name}`);
  };
  look(toOpenApi(routes), "");
  expect(open).toEqual([]);
});

test("every JSON body has an example that its endpoint accepts", () => {
  for (const { method, url, bodies } of routes) {
    const schema = bodies["application/json"];
    if (!schema) continue;
    const { example } = NOTES[`${method} ${url}`] ?? {};
    expect(example, `${method} ${url}`).toBeDefined();
    expect(schema.safeParse(example).error, `${method} ${url}`).toBeUndefined();
  }
});
