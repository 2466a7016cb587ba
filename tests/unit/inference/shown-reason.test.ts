import { describe, expect, test } from "vitest";
import { shownReason } from "../../../src/inference/providers/exchange/shown-reason.ts";

const OWN = "http://gpu-Box:9310/p/workshop/v1";
const shown = (reason: string, url = OWN) => shownReason(reason, url);

describe("a provider's reason is shown without addresses", () => {
  test.each([
    ["Not found: http://gpu-box:9310/p/workshop/v1/chat/completions", "Not found: [address]"],
    ["see HTTPS://GPU-BOX/docs, or ask.", "see [address], or ask."],
    ["no route to GPU-BOX:9310", "no route to [address]"],
    ["HTTPConnectionPool(host='gpu-box', port=9310)", "HTTPConnectionPool(host='[address]', port=9310)"],
    ["POST /p/workshop/v1/chat/completions is not served", "POST [address]/chat/completions is not served"],
    ["connect ECONNREFUSED 10.0.0.5:8000", "connect ECONNREFUSED [address]"],
    ["bad gateway: 10.0.0.5.", "bad gateway: [address]."],
    ["connect to [::1]:9310 or [fe80::1%eth0]", "connect to [address] or [address]"],
    ["redis.internal.example:6379 and localhost:80 failed", "[address] and [address] failed"],
    ["worker-3:8000 is gone", "[address] is gone"],
    [String.raw`{"detail":"http:\/\/10.0.0.5:8080\/x"}`, `{"detail":"[address]"}`],
  ])("%s", (reason, expected) => expect(shown(reason)).toBe(expected));

  test("of a server with an IPv6 address, in brackets or not", () => {
    expect(shown("at [2001:db8::7]:80 and 2001:DB8::7", "http://[2001:db8::7]:80/v1")).toBe(
      "at [address] and [address]",
    );
  });

  test("before it is cut, so that no part of one stays", () => {
    const reason = `${"a".repeat(495)} gpu-box:9310`;
    expect(shown(reason)).toBe(`${"a".repeat(495)} [add`);
  });
});

test.each([
  "messages.0.content: must not be empty",
  "max_tokens:4096 is more than length:8192, at 12:30:45",
  "max_tokens (131072) exceeds the context length of gpt-4.1 (32768)",
  "response_format.json_schema[0:3]: invalid, see std::vector",
  "version 1.2.3 of llama3:70b does not support tools",
  "the model `zai-org/GLM-5` does not exist",
])("what is no address stays: %s", (reason) => expect(shown(reason)).toBe(reason));

test("a long text is read in linear time", () => {
  const hostile = ["a.", "1.", "a://", "[::", "a-", "http://.", "localhost"].map((part) =>
    part.repeat(20_000),
  );
  const before = process.cpuUsage();
  for (const text of hostile) shown(text);
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
});
