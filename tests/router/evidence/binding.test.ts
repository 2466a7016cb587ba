// @module-tag large
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SigningBehaviour } from "../../../src/devnet/provider/provider-signature.ts";
import { REWRITES, type Rewrite } from "../../../src/devnet/provider/request-rewrites.ts";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { MODEL } from "../../support/chain/network.ts";
import { rest } from "../../support/clients/rest-client.ts";
import { toWav } from "../../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack({ TEE_CHECK_MS: "8000" });
const services = useServices(stack, ["images", "messages", "speech"]);

let owner: Seeded;
/** The body of the last request, as the provider received it. */
let received: Buffer | undefined;

beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10n ** 12n);
  stack().provider.onBody = (body) => {
    received = body;
  };
});
afterEach(() => {
  for (const provider of [stack().provider, ...Object.values(services())]) provider.behaviour = {};
});

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const reply = await fetch(`${stack().origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}`, ...headers },
    body: JSON.stringify({ verify_tee: true, ...body }),
  });
  const text = await reply.text();
  expect(reply.status).toBe(200);
  return { text, key: reply.headers.get("zg-res-key") ?? "", trace: traceIn(text) };
}

function traceIn(text: string): Trace {
  if (text.startsWith("{")) return JSON.parse(text).x_0g_trace as Trace;
  const comment = /^: x_0g_trace (.*)$/m.exec(text)?.[1];
  const chunk = /^data: (.*"x_0g_trace".*)$/m.exec(text)?.[1];
  return (comment ? JSON.parse(comment) : JSON.parse(chunk ?? "{}").x_0g_trace) as Trace;
}

function chat(more: object = {}, headers?: Record<string, string>) {
  const messages = [{ role: "user", content: "Is it you?" }];
  return post("/v1/chat/completions", { model: MODEL, messages, max_tokens: 4, ...more }, headers);
}

/** Chats with a provider that signs as given. */
function signedBy(signing: SigningBehaviour, more: object = {}) {
  stack().provider.behaviour = { signing };
  return chat(more);
}

async function evidenceOf({ request_id: id }: Trace) {
  const [evidence] = await stack().app.evidence.byRequests(owner.account, [id]);
  return evidence;
}

const BOTH = { form: "hashes", request_bound: true, response_bound: true };

describe("a signature of this answer", () => {
  test("is bound to the bytes that were sent to the provider and received from it", async () => {
    const { text, trace } = await chat();
    expect(trace).toMatchObject({ tee_verified: true, tee_evidence: { verdict: "verified", ...BOTH } });
    const own = text.replace(/,"cost":[\d.e-]+/, "").replace(/,"x_0g_trace":.*$/, "}");
    expect(await evidenceOf(trace)).toMatchObject({
      verdict: "verified",
      requestHash: sha256(received ?? ""),
      responseHash: sha256(own),
      requestBound: true,
      responseBound: true,
    });
  });

  test.each([
    ["a stream", { stream: true }],
    ["a stream with usage", { stream: true, stream_options: { include_usage: true } }],
    ["an answer with a masked name", { model: MODEL, n: 2 }],
  ])("covers %s", async (_, more) => {
    expect((await chat(more)).trace.tee_evidence).toEqual({ verdict: "verified", ...BOTH });
  });

  test("covers a slow stream, whose bytes arrive event by event", async () => {
    stack().provider.behaviour = { chunkDelayMs: 5 };
    expect((await chat({ stream: true })).trace.tee_evidence).toEqual({ verdict: "verified", ...BOTH });
  });

  test("covers messages in Anthropic's format, whole and streamed", async () => {
    const body = {
      model: SERVICES.messages.model,
      messages: [{ role: "user", content: "Hi" }],
      max_tokens: 4,
    };
    for (const stream of [false, true])
      expect((await post("/v1/messages", { ...body, stream })).trace.tee_evidence).toEqual({
        verdict: "verified",
        ...BOTH,
      });
  });

  test.each(["query", "field"])("covers a transcription that is sent as a form, as a %s", async (where) => {
    const form = new FormData();
    if (where === "field") form.set("verify_tee", "true");
    form.set("model", SERVICES.speech.model);
    form.set("file", new Blob([new Uint8Array(toWav(1))], { type: "audio/wav" }), "a.wav");
    const query = where === "query" ? "?verify_tee=true" : "";
    const reply = await fetch(`${stack().origin}/v1/audio/transcriptions${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.secret}` },
      body: form,
    });
    expect(traceIn(await reply.text()).tee_evidence).toEqual({ verdict: "verified", ...BOTH });
  });

  test("is found when the key is only in the id of the answer", async () => {
    stack().provider.behaviour = { omitsKey: true };
    const { text, trace } = await chat();
    expect(trace.tee_evidence).toEqual({ verdict: "verified", ...BOTH });
    expect((await evidenceOf(trace))?.answerId).toBe(JSON.parse(text).id);
  });

  test.each(Object.keys(REWRITES) as Rewrite[])(
    "is verified without its request if the provider rewrote that (%s)",
    async (rewrite) => {
      const { trace } = await signedBy({ rewrites: [rewrite] }, { user: "u", reasoning_effort: "low" });
      expect(trace).toMatchObject({
        tee_verified: true,
        tee_evidence: { verdict: "verified", form: "hashes", request_bound: false, response_bound: true },
      });
    },
  );

  test("does not depend on a hash that the client claims: its header is not forwarded", async () => {
    stack().provider.behaviour = { signing: { trustsRequestHash: true } };
    const { trace } = await chat({}, { "x-request-hash": sha256("another request") });
    expect(trace.tee_evidence).toEqual({ verdict: "verified", ...BOTH });
  });
});

describe("the form of the text", () => {
  test.each(["centralized", "named_model"] as const)("may be %s", async (form) => {
    for (const stream of [false, true])
      expect((await signedBy({ form }, { stream })).trace.tee_evidence).toEqual({
        verdict: "verified",
        ...BOTH,
        form,
      });
  });

  test.each(["sealed", "canonical"] as const)(
    "that is %s has no hashes to compare, and proves nothing",
    async (form) => {
      const { trace } = await signedBy({ form });
      expect(trace).toMatchObject({ tee_verified: false });
      expect(trace.tee_evidence).toEqual({ verdict: "unsupported_form" });
    },
  );

  test.each([
    [1, undefined, "hashes"],
    [3, undefined, "image_hashes"],
    [2, "whole", "hashes"],
  ] as const)("of %i images (%s) is %s", async (n, form, expected) => {
    services().images.behaviour = form ? { signing: { form } } : {};
    const body = { model: SERVICES.images.model, prompt: "the sea", size: "32x16", n };
    const { trace } = await post("/v1/images/generations", body);
    expect(trace.tee_evidence).toEqual({ verdict: "verified", ...BOTH, form: expected });
  });

  test("of a job is the one of its images, when it ends and when it is asked for later", async () => {
    services().images.behaviour = { jobs: { processingMs: 20, retryAfterSeconds: 0 } };
    for (const early of [true, false]) {
      const body = {
        model: SERVICES.images.model,
        prompt: "the sea",
        size: "32x16",
        n: 2,
        verify_tee: early,
      };
      const path = "/v1/async/images/generations";
      const { body: job } = await rest<{ jobId: string }>(stack().origin, path, owner.secret, { body });
      const trace = await until(async () => {
        const at = `/v1/async/jobs/${job.jobId}?verify_tee=true`;
        const { body: found } = await rest<{ x_0g_trace?: Trace }>(stack().origin, at, owner.secret);
        return found.x_0g_trace ?? false;
      });
      expect(trace.tee_evidence).toEqual({ verdict: "verified", ...BOTH, form: "image_hashes" });
    }
  });
});

describe("a true signature of other bytes", () => {
  test("of another answer is unbound, however often it is given", async () => {
    const { key } = await chat({ messages: [{ role: "user", content: "Another question." }] });
    for (const stream of [false, true]) {
      const { trace } = await signedBy({ replays: key }, { stream });
      expect(trace).toMatchObject({ tee_verified: false });
      expect(trace.tee_evidence).toEqual({
        verdict: "unbound",
        form: "hashes",
        request_bound: false,
        response_bound: false,
      });
      expect(await evidenceOf(trace)).toMatchObject({ verdict: "unbound", responseBound: false });
    }
  });

  test.each(["reserialized", "content", "prefix", "another"] as const)(
    "is unbound, and its request may be bound (%s)",
    async (signs) => {
      const { trace } = await signedBy({ signs });
      expect(trace).toMatchObject({ tee_verified: false });
      expect(trace.tee_evidence).toEqual({ verdict: "unbound", ...BOTH, response_bound: false });
    },
  );

  test("of the stream without its end is unbound", async () => {
    const { trace } = await signedBy({ signs: "prefix" }, { stream: true });
    expect(trace.tee_evidence).toMatchObject({ verdict: "unbound", response_bound: false });
  });

  test("of other images is unbound", async () => {
    services().images.behaviour = { signing: { signs: "another" } };
    const body = { model: SERVICES.images.model, prompt: "the sea", size: "32x16", n: 2 };
    const { trace } = await post("/v1/images/generations", body);
    expect(trace.tee_evidence).toEqual({ verdict: "unbound", ...BOTH, response_bound: false });
  });

  test("is no evidence of a stream that was cut: the request failed", async () => {
    stack().provider.behaviour = { breakAfterEvents: 3 };
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}` },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: "user", content: "Hi" }],
        stream: true,
        verify_tee: true,
      }),
    });
    expect(await reply.text()).toContain('"error"');
    const id = reply.headers.get("x-request-id") ?? "";
    expect(await stack().app.evidence.byRequests(owner.account, [id])).toEqual([undefined]);
  });
});
