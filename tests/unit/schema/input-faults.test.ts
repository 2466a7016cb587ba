import { expect, test } from "vitest";
import { AppError } from "../../../src/kernel/errors.ts";
import { faultIn } from "../../../subgraphs/shared/input-faults.ts";

const ADDRESS = `0x${"11".repeat(20)}`;

test.each([
  ["provider.only", { routing: { only: [] } }, "routing.only"],
  ["provider.only", { routing: { provider: ADDRESS, only: [ADDRESS] } }, "routing.only"],
  ["provider.ignore", { model: "a", routing: { ignore: [ADDRESS] } }, "routing.ignore"],
  ["provider.allow_fallbacks", { routing: { allowFallbacks: false } }, "routing.allowFallbacks"],
  ["provider.only", { options: { provider: { only: [] } } }, "options.provider.only"],
  [
    "provider.only",
    { routing: { ignore: [] }, options: { provider: { only: [] } } },
    "options.provider.only",
  ],
  ["max_tokens", { maxTokens: 0 }, "maxTokens"],
  ["messages.0.tool_calls", { messages: [{ toolCalls: [] }] }, "messages.0.toolCalls"],
])("%s of %j is named %s", (param, input, field) => {
  const fault = faultIn(input, new AppError("invalid_body", `${param}: wrong`, { param }));
  expect(fault).toEqual({ field, message: `${field}: wrong` });
});
