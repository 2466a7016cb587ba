import { expect, test } from "vitest";
import { NOTES, TAGS, tagOf } from "../../../src/rest/openapi/openapi-notes.ts";
import { routes } from "../../../src/rest/routes.ts";

test("every tag has endpoints, and every note belongs to a mounted endpoint", () => {
  const mounted = routes.map(({ method, url }) => `${method} ${url}`);
  for (const place of Object.keys(NOTES)) expect(mounted).toContain(place);
  expect(new Set(routes.map(tagOf))).toEqual(new Set(TAGS.map(({ name }) => name)));
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
