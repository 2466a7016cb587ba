// @module-tag large
import { createHash } from "node:crypto";
import { recoverMessageAddress } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import { DEMO_USER, PROVIDER } from "../../../src/devnet/chain/accounts.ts";
import type { ProviderBehaviour } from "../../../src/devnet/provider/provider.ts";
import { judgeSignature, signerOf } from "../../../src/inference/evidence/tee-signature.ts";
import { profileOf } from "../../../src/inference/providers/profile.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { MODEL } from "../../support/chain/network.ts";
import { scaled } from "../../support/machine.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";

/** Above what a busy machine takes to read a signature. */
const WAIT_MS = 8_000;
const stack = useStack({ TEE_CHECK_MS: String(WAIT_MS) });

afterEach(() => {
  stack().provider.behaviour = {};
});

type Trace = { readonly request_id: string; readonly tee_verified?: boolean; readonly billing: object };

const SIGNER = lowerHex(PROVIDER.address);

async function chat(seeded: Seeded, more: object) {
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: "user", content: "Is it you?" }],
      max_tokens: 4,
      ...more,
    }),
  });
  return { status: reply.status, key: reply.headers.get("zg-res-key"), text: await reply.text() };
}

/** Sends one request with `verify_tee` to a provider that signs as given. */
async function verified(signing: ProviderBehaviour["signing"], more: object = {}) {
  const seeded = await seedAccount(stack().app.database, 10n ** 9n);
  stack().provider.behaviour = signing ? { signing } : {};
  const startedMs = performance.now();
  const { status, key, text } = await chat(seeded, { verify_tee: true, ...more });
  const tookMs = performance.now() - startedMs;
  expect(status).toBe(200);
  const trace = traceIn(text);
  const [evidence] = await stack().app.evidence.byRequests(seeded.account, [trace.request_id]);
  return { seeded, key, text, trace, evidence, tookMs };
}

function traceIn(text: string): Trace {
  if (text.startsWith("{")) return JSON.parse(text).x_0g_trace as Trace;
  const comment = /^: x_0g_trace (.*)$/m.exec(text)?.[1];
  const chunk = /^data: (.*"x_0g_trace".*)$/m.exec(text)?.[1];
  return (comment ? JSON.parse(comment) : JSON.parse(chunk ?? "{}").x_0g_trace) as Trace;
}

describe("verify_tee", () => {
  test("is true for the signature of the acknowledged signer, and the signed text is stored", async () => {
    const { key, trace, evidence } = await verified(undefined);
    expect(trace).toMatchObject({ tee_verified: true, billing: { total_cost: expect.any(String) } });
    expect(evidence).toMatchObject({
      verdict: "verified",
      provider: SIGNER,
      answerId: key,
      text: expect.stringMatching(/^[0-9a-f]{64}:[0-9a-f]{64}$/),
      signer: SIGNER,
      expectedSigner: SIGNER,
      form: "hashes",
      requestBound: true,
      responseBound: true,
    });
    const { text = "", signature = "0x" } = evidence ?? {};
    expect(lowerHex(await recoverMessageAddress({ message: text, signature }))).toBe(SIGNER);
  });

  test("covers the answer that was delivered: its hash is the second half of the signed text", async () => {
    const { text, evidence } = await verified(undefined);
    const own = text.replace(/,"cost":[\d.e-]+/, "").replace(/,"x_0g_trace":.*$/, "}");
    expect(evidence?.text?.split(":")[1]).toBe(createHash("sha256").update(own).digest("hex"));
  });

  test("is in the trace of a stream, as a comment or with the usage", async () => {
    expect((await verified(undefined, { stream: true })).trace.tee_verified).toBe(true);
    const asked = { stream: true, stream_options: { include_usage: true } };
    expect((await verified(undefined, asked)).trace.tee_verified).toBe(true);
    const forged = await verified({ key: DEMO_USER.privateKey, claimsOwn: true }, { stream: true });
    expect([forged.trace.tee_verified, forged.text.endsWith("data: [DONE]\n\n")]).toEqual([false, true]);
  });

  test("is false for another signer, whatever address the answer claims", async () => {
    const other = await verified({ key: DEMO_USER.privateKey });
    expect(other.trace.tee_verified).toBe(false);
    expect(other.evidence).toMatchObject({
      verdict: "other_signer",
      signer: lowerHex(DEMO_USER.address),
      expectedSigner: SIGNER,
    });
    const forged = await verified({ key: DEMO_USER.privateKey, claimsOwn: true });
    expect([forged.trace.tee_verified, forged.evidence?.verdict]).toEqual([false, "forged"]);
  });

  test.each([
    ["missing", { status: 404, body: '{"error":"none"}' }],
    ["missing", { status: 403, body: "{}" }],
    ["unreachable", { status: 500, body: "{}" }],
    ["unreachable", { status: 429, body: "{}" }],
    ["malformed", { status: 200, body: "<html>" }],
    ["malformed", { status: 200, body: '{"text":"t","signature":"0x12"}' }],
    ["malformed", { status: 200, body: JSON.stringify({ text: "t", signature: 1 }) }],
    ["unreachable", { status: 200, body: " ".repeat(100_000) }],
    ["forged", { status: 200, body: JSON.stringify({ text: "t", signature: `0x${"00".repeat(65)}` }) }],
    ["forged", { status: 200, body: JSON.stringify({ text: "t", signature: `0x${"ff".repeat(65)}` }) }],
  ])("is false, and %s, for a body that proves nothing (%#)", async (verdict, instead) => {
    const { trace, evidence } = await verified({ instead });
    expect([trace.tee_verified, evidence?.verdict]).toEqual([false, verdict]);
  });

  test("is missing if the provider had none, also when the time limit cuts off the next request", async () => {
    let requests = 0;
    const instead = { status: 404, body: "{}" };
    const { trace, evidence } = await verified({
      instead,
      get delayMs() {
        return requests++ === 0 ? 0 : 60_000;
      },
    });
    expect([trace.tee_verified, evidence?.verdict]).toEqual([false, "missing"]);
  });

  test("waits no longer than its limit, and the delivered answer is charged", async () => {
    const { trace, evidence, tookMs, text } = await verified({ delayMs: 60_000 });
    expect([trace.tee_verified, evidence?.verdict]).toEqual([false, "unreachable"]);
    expect(tookMs).toBeGreaterThan(WAIT_MS * 0.8);
    expect(tookMs).toBeLessThan(scaled(WAIT_MS + 1_500));
    expect(JSON.parse(text).usage.completion_tokens).toBe(4);
    expect(trace.billing).not.toMatchObject({ total_cost: "0" });
  });

  test("does not delay the text of a stream", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = { signing: { delayMs: 800 } };
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: "user", content: "Hi" }],
        stream: true,
        verify_tee: true,
      }),
    });
    let finishedMs = 0;
    let text = "";
    for await (const chunk of reply.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString("utf8");
      if (finishedMs === 0 && text.includes('"finish_reason":"stop"')) finishedMs = performance.now();
    }
    expect(performance.now() - finishedMs).toBeGreaterThan(600);
    expect(traceIn(text).tee_verified).toBe(true);
  });

  test("costs nothing when it is not requested: no signature is fetched and no verdict returned", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = { signing: { delayMs: 60_000 } };
    for (const more of [{}, { verify_tee: false }, { verify_tee: null }]) {
      const { text, key } = await chat(seeded, more);
      expect(key).toMatch(/^[0-9a-f-]{36}$/);
      expect(traceIn(text)).not.toHaveProperty("tee_verified");
      const [evidence] = await stack().app.evidence.byRequests(seeded.account, [traceIn(text).request_id]);
      expect(evidence).toBeUndefined();
    }
    expect((await chat(seeded, { verify_tee: "yes" })).status).toBe(400);
  });

  test("is not readable by other accounts", async () => {
    const { trace } = await verified(undefined);
    const other = await seedAccount(stack().app.database, 0n);
    expect(await stack().app.evidence.byRequests(other.account, [trace.request_id])).toEqual([undefined]);
  });
});

describe("the expected signer", () => {
  const OTHER = lowerHex(DEMO_USER.address);
  const offer = (info: object, teeAcknowledged = true) =>
    ({ teeSigner: SIGNER, teeAcknowledged, profile: profileOf(JSON.stringify(info)) }) as Provider;
  const separated = { TargetSeparated: true, TargetTeeAddress: DEMO_USER.address };

  test("is the signer of the registry row", () => {
    expect(signerOf(offer({}))).toBe(SIGNER);
    expect(signerOf(offer({ ...separated, ProviderType: "centralized" }))).toBe(SIGNER);
    expect(signerOf(offer({ ...separated, TargetSeparated: false, ProviderType: "decentralized" }))).toBe(
      SIGNER,
    );
    expect(signerOf(offer({ TargetSeparated: true, ProviderType: "decentralized" }))).toBe(SIGNER);
    expect(signerOf(offer({ ...separated, TargetTeeAddress: "0x1", ProviderType: "decentralized" }))).toBe(
      SIGNER,
    );
  });

  test("is the enclave of the model where a decentralized provider has a separate one", () => {
    expect(signerOf(offer({ ...separated, ProviderType: "decentralized" }))).toBe(OTHER);
    expect(signerOf(offer({ ...separated, TargetSeparated: "true", ProviderType: "decentralized" }))).toBe(
      OTHER,
    );
  });

  test("is undefined if the network did not acknowledge it", () => {
    expect(signerOf(offer({ ...separated, ProviderType: "decentralized" }, false))).toBeUndefined();
  });

  test("is never taken from the answer", async () => {
    const body = Buffer.from(
      JSON.stringify({ text: "t", signature: `0x${"11".repeat(65)}`, signing_address: SIGNER }),
    );
    expect((await judgeSignature(body, SIGNER, undefined)).verdict).toBe("forged");
  });
});
