// @module-tag large
import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import type { SigningBehaviour } from "../../../src/devnet/provider/provider-signature.ts";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { toWav } from "../../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ TEE_CHECK_MS: "8000" });
const services = useServices(stack, ["messages", "speech"]);

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10n ** 12n);
  await prove({});
});

type Chat = {
  readonly id: string;
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly x_0g_trace: Trace;
};

const BODY = { model: MODEL, messages: [{ role: "user", content: "Is it you?" }], max_tokens: 4 };
const BOUND = { "x-0g-provider-evidence": "bound" };
const ATTESTED = { "x-0g-provider-evidence": "attested" };

function chat<T = Chat>(headers: Record<string, string>, more: object = {}) {
  const body = { ...BODY, ...more };
  return rest<T>(stack().origin, "/v1/chat/completions", owner.secret, { body, headers });
}

/** The provider signs as given from now on, and its next evidence shows it. */
async function prove(signing: SigningBehaviour): Promise<void> {
  stack().provider.behaviour = { signing };
  expect((await chat({}, { verify_tee: true })).status).toBe(200);
}

/** Whether the newest request of this account is billed. */
async function charged(): Promise<boolean> {
  const [request] = (await stack().app.requests.list(owner.account, { first: 1, after: undefined })).rows;
  return request?.status === "completed" && (request.cost?.total ?? 0n) > 0n;
}

function signs(signing: SigningBehaviour): void {
  stack().provider.behaviour = { signing };
}

describe("a request that requires bound evidence", () => {
  test("is answered by a provider that recently gave some, and its answer is checked", async () => {
    const { status, body } = await chat(BOUND);
    expect(status).toBe(200);
    expect(body.x_0g_trace).toMatchObject({ tee_verified: true, tee_evidence: { verdict: "verified" } });
  });

  test("is refused, and not billed, if no provider did: unbound evidence counts as none", async () => {
    await prove({ signs: "another" });
    const asked = stack().provider.requests;
    const { status, body } = await chat<RestFailure>(BOUND);
    expect([status, body.error.code]).toEqual([503, "no_provider_with_evidence"]);
    expect(body.error.message).toContain("verify_tee");
    expect(stack().provider.requests).toBe(asked);
    await prove({});
    expect((await chat(BOUND)).status).toBe(200);
  });

  test("is refused by a provider that never gave any", async () => {
    const body = { ...BODY, model: SERVICES.messages.model };
    const path = "/v1/messages";
    const sent = { body, headers: BOUND };
    expect((await rest(stack().origin, path, owner.secret, sent)).status).toBe(503);
    expect(services().messages.requests).toBe(0);
  });

  test("delivers the answer that it bills if that turns out unbound, and marks it", async () => {
    signs({ signs: "another" });
    const { status, body, headers } = await chat(BOUND);
    expect(status).toBe(200);
    expect(body.choices[0]?.message.content).toMatch(/\w/);
    expect(headers.get("x-0g-provider-evidence")).toBe("missing");
    expect(body.x_0g_trace).toMatchObject({
      tee_verified: false,
      tee_evidence: { verdict: "unbound" },
      error: {
        code: "evidence_missing",
        type: "api_error",
        message: expect.stringContaining("did not prove"),
      },
    });
    expect(await charged()).toBe(true);
  });

  test("is not marked if the answer is bound, nor is an unbound answer without the requirement", async () => {
    const bound = await chat(BOUND);
    signs({ signs: "another" });
    for (const { body, headers } of [bound, await chat({}, { verify_tee: true })]) {
      expect(headers.get("x-0g-provider-evidence")).toBeNull();
      expect(body.x_0g_trace).not.toHaveProperty("error");
    }
  });

  test("marks an answer without a signature", async () => {
    signs({ instead: { status: 403, body: "{}" } });
    const { body } = await chat(BOUND);
    expect(body.x_0g_trace.error?.message).toContain("missing");
  });

  test("repeats the marked answer for its Idempotency-Key, without a second charge", async () => {
    signs({ signs: "another" });
    const headers = { ...BOUND, "idempotency-key": randomUUID() };
    const first = await chat(headers);
    const again = await chat(headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("x-0g-provider-evidence")).toBe("missing");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  test("gives OpenAI's and Anthropic's clients the text of an unproven answer", async () => {
    signs({ signs: "another" });
    const options = { apiKey: owner.secret, maxRetries: 0, defaultHeaders: BOUND };
    const openai = new OpenAI({ ...options, baseURL: `${stack().origin}/v1` });
    const asked = openai.chat.completions.create(BODY as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming);
    const { data, response } = await asked.withResponse();
    expect(data.choices[0]?.message.content).toMatch(/\w/);
    expect(response.headers.get("x-0g-provider-evidence")).toBe("missing");

    services().messages.behaviour = {};
    const body = { ...BODY, model: SERVICES.messages.model };
    await rest(stack().origin, "/v1/messages", owner.secret, { body: { ...body, verify_tee: true } });
    services().messages.behaviour = { signing: { signs: "another" } };
    const anthropic = new Anthropic({ ...options, baseURL: stack().origin });
    const message = await anthropic.messages.create(body as Anthropic.MessageCreateParamsNonStreaming);
    expect(message).toMatchObject({ type: "message", x_0g_trace: { error: { code: "evidence_missing" } } });
  });

  test("marks a transcript as plain text in its header", async () => {
    const form = { model: SERVICES.speech.model, file_base64: toWav(1).toString("base64") };
    const path = "/v1/audio/transcriptions";
    await rest(stack().origin, `${path}?verify_tee=true`, owner.secret, { body: form });
    services().speech.behaviour = { signing: { signs: "another" } };
    const reply = await fetch(`${stack().origin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}`, ...BOUND },
      body: JSON.stringify({ ...form, response_format: "text" }),
    });
    expect([reply.status, reply.headers.get("x-0g-provider-evidence")]).toEqual([200, "missing"]);
    expect(await reply.text()).toMatch(/\w/);
  });

  test("gets the reason why a response is unproven beside its text, in the graph", async () => {
    signs({ signs: "another" });
    const input = `{ model: "${MODEL}", messages: [{ role: "user", content: "Is it you?" }], maxTokens: 4,
      routing: { evidence: BOUND } }`;
    const { data, errors } = await ask(
      stack().origin,
      owner.secret,
      `mutation { completeChat(input: ${input}) { completion { choices { text } bill { teeVerified unproven } } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.completeChat.completion).toEqual({
      choices: [{ text: expect.stringMatching(/\w/) }],
      bill: { teeVerified: false, unproven: expect.stringContaining("did not prove") },
    });
  });

  test.each([
    ["a comment", {}],
    ["the usage", { stream_options: { include_usage: true } }],
  ])("ends its stream with an error in place of [DONE], after the bill in %s", async (_, more) => {
    signs({ signs: "another" });
    const text = await streamed("/v1/chat/completions", { ...BODY, stream: true, ...more });
    expect(text).toContain('"finish_reason":"length"');
    expect(text).toContain('"tee_verified":false');
    expect(text).not.toContain("[DONE]");
    const last = JSON.parse(text.trimEnd().split("\n\n").at(-1)?.slice("data: ".length) ?? "");
    expect(last.error).toMatchObject({ code: "evidence_missing", type: "api_error" });
    expect(await charged()).toBe(true);
  });

  test("ends its stream regularly if it is bound", async () => {
    expect(await streamed("/v1/chat/completions", { ...BODY, stream: true })).toMatch(/data: \[DONE\]\n\n$/);
  });

  test("ends a stream in Anthropic's format with an error event", async () => {
    services().messages.behaviour = {};
    const body = { ...BODY, model: SERVICES.messages.model, stream: true };
    await rest(stack().origin, "/v1/messages", owner.secret, {
      body: { ...BODY, ...body, stream: false, verify_tee: true },
    });
    services().messages.behaviour = { signing: { signs: "another" } };
    const text = await streamed("/v1/messages", body);
    expect(text).toContain("event: error\n");
    expect(text).toContain("evidence_missing");
    expect(text).not.toContain("message_stop");
  });

  test("ends the stream of a response with its failure, after the bill", async () => {
    signs({ signs: "another" });
    const text = await streamed("/v1/responses", { model: MODEL, input: "Is it you?", stream: true });
    expect(text).not.toContain("[DONE]");
    expect(text).not.toContain("response.completed");
    const [error, failed] = text
      .trimEnd()
      .split("\n\n")
      .slice(-2)
      .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)));
    expect(error).toMatchObject({ type: "error", code: "evidence_missing" });
    expect(failed).toMatchObject({
      type: "response.failed",
      response: {
        error: { code: "evidence_missing" },
        output: [{ status: "completed" }],
        x_0g_trace: { tee_verified: false },
      },
    });
    expect(await charged()).toBe(true);
  });

  test("previews which providers lack it", async () => {
    await prove({ signs: "another" });
    const sent = { body: { service_type: "chatbot", model: MODEL }, headers: BOUND };
    const { body } = await rest<RestFailure>(stack().origin, "/v1/routing/preview", owner.secret, sent);
    expect(body.error.code).toBe("no_provider_with_evidence");
  });
});

describe("a request that requires attested evidence", () => {
  test("is refused if no provider is attested", async () => {
    const { status, body } = await chat<RestFailure>(ATTESTED);
    expect([status, body.error.code]).toEqual([503, "no_provider_with_evidence"]);
    expect(body.error.message).toContain("attested");
  });
});

test("a malformed requirement is refused", async () => {
  const { status, body } = await chat<RestFailure>({ "x-0g-provider-evidence": "some" });
  expect([status, body.error.code, body.error.param]).toEqual([
    400,
    "invalid_provider_header",
    "x-0g-provider-evidence",
  ]);
});

test("a key that requires evidence has it required of all its requests, from its change on", async () => {
  signs({ signs: "another" });
  expect((await chat({})).status).toBe(200);
  const { apiKeys } = stack().app;
  await apiKeys.update(owner.account, owner.keyId, { providerEvidence: "bound" });
  expect((await chat({})).body.x_0g_trace.error?.code).toBe("evidence_missing");
  expect((await chat<RestFailure>({})).body.error.code).toBe("no_provider_with_evidence");
  await apiKeys.update(owner.account, owner.keyId, { providerEvidence: null });
  expect((await chat({})).status).toBe(200);
});

test("what other processes find counts too, but not for longer than a day", async () => {
  const { database } = stack().app;
  await database.rows("update request_evidence set checked_at = checked_at - interval '25 hours'", []);
  await stack().app.standings.refresh();
  expect((await chat(BOUND)).status).toBe(503);
  await database.rows("update request_evidence set checked_at = checked_at + interval '2 hours'", []);
  await stack().app.standings.refresh();
  expect((await chat(BOUND)).status).toBe(200);
});

async function streamed(path: string, body: object): Promise<string> {
  const reply = await fetch(`${stack().origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}`, ...BOUND },
    body: JSON.stringify(body),
  });
  expect(reply.status).toBe(200);
  return reply.text();
}
