import { expect, test } from "vitest";
import { rootFieldOf } from "../../packages/client/src/core/document.ts";

test.each([
  ["subscription { imageJobProgress(id: 1) { id } }", "imageJobProgress"],
  ["subscription S($id: ID!, $after: Cursor) { job: imageJobProgress(id: $id) { id } }", "imageJobProgress"],
  ["subscription S($by: Filter = { kind: { in: [A] } }) { batchChanged(by: $by) { id } }", "batchChanged"],
  [
    'subscription ($by: Filter = { text: ")" } @on(what: {a: 1})) @live(as: {b: 2}) { a: fileProgress }',
    "fileProgress",
  ],
  ["# subscription { other }\nsubscription { fileProgress { root } }", "fileProgress"],
  ['"""About "{" and (subscription { other }"""\nsubscription { fileProgress { root } }', "fileProgress"],
  ["query { viewer { kind } }", undefined],
])("the root field of %s is %s", (query, field) => {
  expect(rootFieldOf(query)).toBe(field);
});
