import { beforeEach, describe, expect, test } from "vitest";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { sendJson } from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

const { prompt, completion } = PRICES[0];
const pricing = { prompt: String(prompt), completion: String(completion) };
const router = await useRouter({
  models: ["chat"],
  count: 1,
  more: () => [{ id: "text", pricing, supported_formats: ["completions"] }],
});
const NONE = `0x${"11".repeat(20)}`;

let owner: Seeded;
beforeEach(async () => {
  router().scripted[0]?.scripts.clear();
  owner = await router().seed();
});

const messages = [{ role: "user", content: "What is the sea?" }];
/** Errors in Anthropic's format name no field. */
const REQUESTS = [
  ["chat/completions", { model: "chat", messages }],
  ["responses", { model: "chat", input: "a" }],
  ["completions", { model: "text", prompt: "a" }],
] as const;
const STREAMS = [false, true];

async function refusal(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const reply = await rest<RestFailure>(router().origin, `/v1/${path}`, owner.secret, { body, headers });
  const { param, message } = reply.body.error;
  return { status: reply.status, param, message };
}

describe.each(REQUESTS)("POST /v1/%s", (path, body) => {
  describe.each(STREAMS)("with stream: %s", (stream) => {
    test.each([
      ["Address", NONE],
      ["Only", NONE],
      ["Trust-Mode", "private"],
      ["Evidence", "attested"],
    ])("names the header X-Platform-Provider-%s that no provider satisfies", async (name, value) => {
      const header = `X-Platform-Provider-${name}`;
      const { status, param } = await refusal(path, { ...body, stream }, { [header]: value });
      expect([status, param?.toLowerCase()]).toEqual([expect.toSatisfy(isFailure), header.toLowerCase()]);
    });

    test.each([
      ["address", NONE],
      ["only", [NONE]],
      ["trust_mode", "private"],
      ["evidence", "attested"],
    ])("names the member %s of provider that no provider satisfies", async (name, value) => {
      const { status, param } = await refusal(path, { ...body, stream, provider: { [name]: value } });
      expect([status, param]).toEqual([expect.toSatisfy(isFailure), `provider.${name}`]);
    });
  });
});

function isFailure(status: number): boolean {
  return status >= 400;
}

describe.each(STREAMS)("a field that the provider itself refuses, with stream: %s", (stream) => {
  const refusing = (model: string, param: unknown) =>
    router().scripted[0]?.scripts.set(model, (_, response) =>
      sendJson(response, 400, { error: { message: "No.", type: "invalid_request_error", param } }),
    );

  test.each([
    ["messages.0.content", "messages.0.content"],
    ["messages[12].content[0]", "messages.12.content.0"],
    ["messages.[0].role", "messages.0.role"],
    ["temperature", "temperature"],
    [null, null],
    [7, null],
    ["The sea is wide.", null],
    ["x".repeat(300), null],
    ["http://10.0.0.1/v1", null],
  ])("is named to a client of chats: %j as %j", async (param, shown) => {
    refusing("chat", param);
    const answer = await refusal("chat/completions", { model: "chat", messages, stream });
    expect(answer).toEqual({ status: 400, param: shown, message: "The provider rejected the request: No." });
  });

  const missing = (...loc: readonly unknown[]) => ({
    type: "missing",
    loc,
    msg: "Field required",
    input: {},
  });
  test.each<[string, object, string | null, string]>([
    ["of its own", { message: "No.", type: "BadRequestError", param: "top_p", code: 400 }, "top_p", "No."],
    ["with a text in detail", { detail: "No." }, null, "No."],
    [
      "with a list of fields in detail",
      { detail: [missing("body", "messages", 0, "content"), missing("body", "top_p")] },
      "messages.0.content",
      "messages.0.content: Field required; top_p: Field required",
    ],
    ["with nothing that is known", { fault: "No." }, null, "no reason was given"],
  ])("may be stated by a body %s", async (_, body, shown, reason) => {
    router().scripted[0]?.scripts.set("chat", (_call, response) => sendJson(response, 422, body));
    const answer = await refusal("chat/completions", { model: "chat", messages, stream });
    expect(answer).toEqual({
      ...{ status: 400, param: shown },
      message: `The provider rejected the request: ${reason}`,
    });
  });

  test.each([
    ["messages.3.content", "input"],
    ["max_completion_tokens", "max_output_tokens"],
    ["response_format.json_schema", "text.format"],
    ["tools.0.function.name", "tools"],
    ["temperature", "temperature"],
  ])("is named to a client of responses by its own field: %s as %s", async (param, shown) => {
    refusing("chat", param);
    const answer = await refusal("responses", { model: "chat", input: "a", stream });
    expect([answer.status, answer.param]).toEqual([400, shown]);
  });
});
