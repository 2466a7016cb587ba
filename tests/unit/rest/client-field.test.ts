import { expect, test } from "vitest";
import { AppError } from "../../../src/kernel/errors.ts";
import { withClientField } from "../../../src/rest/errors/client-field.ts";

const fault = (param: string) => new AppError("invalid_parameter", "It is invalid.", { param });

test.each([
  ["after", { after: "x" }, {}, "after"],
  ["first", { first: 0 }, {}, "first"],
  ["expires_at", { expires_at: "x" }, {}, "expires_at"],
  ["after", {}, { after: "x" }, "after"],
  ["after", undefined, { cursor: "x" }, "cursor"],
  ["after", Buffer.from("{}"), {}, "cursor"],
  ["first", {}, { limit: 1 }, "limit"],
  ["expires_at", { expiration: "x" }, {}, "expiration"],
  ["name", { label: "x" }, {}, "label"],
  ["name", { name: null, label: "x" }, {}, "label"],
  ["name", { name: "x", label: "y" }, {}, "name"],
  ["expires_at", { expires_at: null, expiration: "x" }, {}, "expiration"],
  ["url", { url: "x" }, {}, "url"],
  ["constructor", { constructor: 1 }, {}, "constructor"],
  ["toString", {}, {}, "toString"],
])("a fault of %s with the body %j and the query %j is one of %s", (param, body, query, shown) => {
  expect(withClientField(fault(param), body, query)).toMatchObject({
    param: shown,
    message: "It is invalid.",
  });
});
