// @module-tag large
import { beforeEach, expect, test } from "vitest";
import { readRouting } from "../../../src/rest/routing-headers.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["cached", "alsoCached"]);

const MODEL = SERVICES.cached.model;
const WAVE = "\u{1f30a}";
const messages = [{ role: "user", content: "Hi" }];

/** A request in the format of each endpoint. */
const REQUESTS = {
  "/v1/chat/completions": { model: MODEL, max_tokens: 5, messages },
  "/v1/messages": { model: MODEL, max_tokens: 5, messages },
  "/v1/responses": { model: MODEL, max_output_tokens: 5, input: "Hi" },
  "/v1/completions": { model: MODEL, max_tokens: 5, prompt: "Hi" },
} as const;
type Path = keyof typeof REQUESTS;
const PATHS = Object.keys(REQUESTS) as Path[];

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10n ** 12n);
});

async function send(path: Path, more: object, headers: Record<string, string> = {}) {
  const body = { ...REQUESTS[path], ...more };
  const reply = await rest<Partial<RestFailure>>(stack().origin, path, owner.secret, { body, headers });
  const { code, param, message = "" } = reply.body.error ?? {};
  // Anthropic's format names the field in the message only.
  return { status: reply.status, code, param: param ?? /^\w+/.exec(message)?.[0] };
}

test.each(PATHS)("one of a wrong type or length is refused by its name: %s", async (path) => {
  for (const id of ["x".repeat(257), WAVE.repeat(257), 7, true, {}, ["s"], { toString: "s" }])
    expect(await send(path, { session_id: id })).toEqual({
      status: 400,
      code: "invalid_body",
      param: "session_id",
    });
});

test("one of a wrong form in a header is refused by the header's name", async () => {
  for (const id of ["x".repeat(257), "s\u00e9a", "a\tb"])
    expect(await send("/v1/chat/completions", {}, { "X-Session-Id": id })).toEqual({
      status: 400,
      code: "invalid_provider_header",
      param: "X-Session-Id",
    });
  const twice = ["X-Session-Id", "a", "x-session-id", "b"];
  expect(() => readRouting(twice, ["0G"])).toThrow("The header x-session-id was sent twice.");
});

test("one that is too long in the graph is refused by its field", async () => {
  const complete = async (sessionId: string) => {
    const { data } = await ask(
      stack().origin,
      owner.secret,
      "mutation ($input: CompleteChatInput!) { completeChat(input: $input) { userErrors { field code } } }",
      { input: { model: MODEL, messages, maxTokens: 5, routing: { sessionId } } },
    );
    return data.completeChat.userErrors;
  };
  const refused = [{ field: "routing.sessionId", code: "invalid_parameter" }];
  expect(await complete("x".repeat(257))).toEqual(refused);
  expect(await complete(WAVE.repeat(257))).toEqual(refused);
  expect(await complete(WAVE.repeat(256))).toEqual([]);
});

test.each(PATHS)("any other text is accepted, or none: %s", async (path) => {
  for (const id of ["", null, "\u0000", "'; drop table account; --", "__proto__", WAVE.repeat(256)])
    expect(await send(path, { session_id: id })).toMatchObject({ status: 200 });
  expect(await send(path, {}, { "x-session-id": "" })).toMatchObject({ status: 200 });
});

test("other ids are the provider's to judge", async () => {
  for (const id of [7, {}, [], "", "x".repeat(1_000_000), "\u0000"])
    for (const more of [{ user: id }, { prompt_cache_key: id }])
      expect(await send("/v1/chat/completions", more)).toMatchObject({ status: 200 });
  for (const metadata of [{ user_id: 7 }, { user_id: "x".repeat(1_000_000) }, {}, "user", ["user"], null])
    expect(await send("/v1/messages", { metadata })).toMatchObject({ status: 200 });
});

test.each(PATHS)("it is not sent to the provider, as `user` and `prompt_cache_key` are: %s", async (path) => {
  const sent: object[] = [];
  for (const provider of Object.values(services()))
    provider.onBody = (body) => void sent.push(JSON.parse(String(body)));
  const keys = { user: "u", prompt_cache_key: "k" };
  const headers = { "x-session-id": "h" };
  expect(await send(path, { session_id: "s", ...keys }, headers)).toMatchObject({ status: 200 });
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject(keys);
  expect(sent[0]).not.toHaveProperty("session_id");
});
