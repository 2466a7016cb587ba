import { expect, test } from "vitest";
import { AppError, type ErrorCode } from "../../../src/kernel/errors.ts";
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
  expect(withClientField(fault(param), { body, query, rawHeaders: [] })).toMatchObject({
    param: shown,
    message: "It is invalid.",
  });
});

test.each<[ErrorCode, string | null, readonly string[], object, string | null]>([
  [
    "invalid_parameter",
    "models",
    ["Host", "a", "X-0g-Provider-Fallback-Models", "a"],
    {},
    "X-0g-Provider-Fallback-Models",
  ],
  [
    "invalid_max_price_usd",
    "provider.max_price.image",
    ["x-a-provider-max-price-usd-image", "1"],
    {},
    "x-a-provider-max-price-usd-image",
  ],
  [
    "no_provider_within_max_price",
    "provider.max_price.prompt",
    ["x-a-provider-max-price-usd-image", "1"],
    { provider: { max_price: { prompt: 1 } } },
    "provider.max_price.prompt",
  ],
  [
    "no_provider_for_trust_mode",
    null,
    ["X-A-Provider-Trust-Mode", "private"],
    { provider: { trust_mode: "verified" } },
    "X-A-Provider-Trust-Mode",
  ],
  [
    "provider_not_found",
    null,
    ["a", "X-A-Provider-Address"],
    { provider: { address: "0x" } },
    "provider.address",
  ],
  [
    "no_provider_with_evidence",
    null,
    [],
    Buffer.from('{"provider":{"evidence":"bound"}}'),
    "provider.evidence",
  ],
  ["no_provider_with_evidence", null, [], Buffer.from("{"), null],
  ["provider_not_found", null, [], { provider: null }, null],
  ["no_available_provider", null, ["X-A-Provider-Address", "0x"], {}, null],
])(
  "a failure %s of %j names the header or the member of provider that was sent",
  (code, param, rawHeaders, body, shown) => {
    const failure = new AppError(code, "It is refused.", param === null ? {} : { param });
    expect(withClientField(failure, { body, rawHeaders })).toMatchObject({ code, param: shown });
  },
);
