// @module-tag large
import { createHash } from "node:crypto";
import { hexToBytes } from "@noble/hashes/utils.js";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openCheckpoint, parseVerifierKey } from "../../../src/receipts/format/checkpoint.ts";
import { verifyConsistency } from "../../../src/receipts/format/merkle-log.ts";
import { type ReceiptBundle, verifyBundle } from "../../../src/receipts/format/proof-bundle.ts";
import { commitsTo, type Receipt } from "../../../src/receipts/format/receipt.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { toWav } from "../../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack({ TEE_CHECK_MS: "8000" });
const services = useServices(stack, ["images", "messages", "speech", "edits"]);

let owner: Seeded;
/** The body of the last request, as the provider received it. */
let forwarded: Buffer | undefined;

beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10n ** 12n);
  for (const provider of [stack().provider, ...Object.values(services())])
    provider.onBody = (body) => {
      forwarded = body;
    };
});
afterEach(() => {
  for (const provider of [stack().provider, ...Object.values(services())]) provider.behaviour = {};
});

const messages = [{ role: "user", content: "What did it cost?" }];
const CHAT = { model: MODEL, messages, max_tokens: 4 };

/** Posts a body; returns it with the bytes of the answer and the id of the request. */
async function post(path: string, body: object | FormData, more: Record<string, string> = {}) {
  const isForm = body instanceof FormData;
  const request = new Request(`${stack().origin}${path}`, {
    method: "POST",
    headers: {
      ...(!isForm && { "content-type": "application/json" }),
      authorization: `Bearer ${owner.secret}`,
      ...more,
    },
    body: isForm ? body : JSON.stringify(body),
  });
  const sent = Buffer.from(await request.clone().arrayBuffer());
  const reply = await fetch(request);
  const returned = Buffer.from(await reply.arrayBuffer());
  return { status: reply.status, sent, returned, id: await newestRequest() };
}

async function newestRequest(): Promise<string> {
  const [row] = await until(async () => {
    const rows = await stack().app.database.rows<{ id: string }>(
      "select id from inference_request where account = $1 and finished_at is not null order by finished_at desc",
      [owner.account],
    );
    return rows.length > 0 && rows;
  });
  return row?.id ?? "";
}

function bundleOf(id: string, secret = owner.secret): Promise<ReceiptBundle> {
  return until(async () => {
    const { status, body } = await rest<ReceiptBundle>(stack().origin, `/v1/receipts/${id}`, secret);
    return status === 200 && body;
  });
}

/** The receipt of a request, verified by a client that knows the router's key. */
async function verified(id: string): Promise<Receipt> {
  const bundle = await bundleOf(id);
  const { body: key } = await rest<{ public_key: string }>(stack().origin, "/v1/receipts/key");
  const known = parseVerifierKey(key.public_key);
  if (!known) throw new Error("the key is malformed");
  expect(verifyBundle(bundle, known)).toMatchObject({ isSigned: true, isIncluded: true });
  expect(bundle.receipt).toMatchObject({ request_id: id, account: owner.account, api_key_id: owner.keyId });
  return bundle.receipt;
}

async function chargeOf(id: string): Promise<string | undefined> {
  const [row] = await stack().app.database.rows<{ charge: string }>(
    "select total_cost::text as charge from inference_request where id = $1",
    [id],
  );
  return row?.charge;
}

describe("the receipt of", () => {
  test("a whole chat commits to all four bodies, and states the charge", async () => {
    const { id, sent, returned } = await post("/v1/chat/completions", CHAT);
    const receipt = await verified(id);
    expect(commitsTo(receipt, "received", sent)).toBe(true);
    expect(commitsTo(receipt, "forwarded", forwarded ?? Buffer.alloc(0))).toBe(true);
    expect(commitsTo(receipt, "returned", returned)).toBe(true);
    const own = returned
      .toString()
      .replace(/,"cost":[\d.e-]+/, "")
      .replace(/,"x_0g_trace":.*$/, "}");
    expect(commitsTo(receipt, "answered", Buffer.from(own))).toBe(true);
    expect(commitsTo(receipt, "returned", Buffer.from(own))).toBe(false);
    const { usage, x_0g_trace: trace } = JSON.parse(returned.toString());
    expect(receipt).toMatchObject({
      endpoint: "/v1/chat/completions",
      model: MODEL,
      model_answered: MODEL,
      provider: trace.provider,
      charge: trace.billing.total_cost,
      usage: { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens, units: null },
      outcome: "completed",
      error_code: null,
      evidence: null,
    });
    const { input, output } = receipt.prices;
    const cost =
      BigInt(input) * BigInt(usage.prompt_tokens) + BigInt(output) * BigInt(usage.completion_tokens);
    expect(receipt.charge).toBe(`${cost}`);
    expect(Date.parse(receipt.finished_at)).toBeGreaterThanOrEqual(Date.parse(receipt.started_at));
  });

  test("a streamed chat commits to every byte of the stream", async () => {
    const { id, sent, returned } = await post("/v1/chat/completions", { ...CHAT, stream: true });
    expect(returned.toString()).toContain("[DONE]");
    const receipt = await verified(id);
    expect(commitsTo(receipt, "received", sent)).toBe(true);
    expect(commitsTo(receipt, "forwarded", forwarded ?? Buffer.alloc(0))).toBe(true);
    expect(commitsTo(receipt, "returned", returned)).toBe(true);
    expect(receipt.hashes.answered).not.toBeNull();
  });

  test("a chat that is charged in full is complete with its settlement: nothing is written for it afterwards", async () => {
    const { database } = stack().app;
    const later = vi.spyOn(database, "rows");
    onTestFinished(() => later.mockRestore());
    for (const stream of [false, true]) {
      const { id, returned } = await post("/v1/chat/completions", { ...CHAT, stream });
      expect(commitsTo(await verified(id), "returned", returned)).toBe(true);
    }
    const updates = later.mock.calls.filter(([sql]) => /update receipt_draft/.test(sql));
    expect(updates).toEqual([]);
  });

  test("a stream that broke states what was charged, and what was returned", async () => {
    stack().provider.behaviour = { breakAfterEvents: 3, chunks: 4 };
    const { id, returned } = await post("/v1/chat/completions", { ...CHAT, stream: true });
    const receipt = await verified(id);
    expect(receipt).toMatchObject({ outcome: "failed", charge: await chargeOf(id) });
    expect(receipt.error_code).not.toBeNull();
    expect(commitsTo(receipt, "returned", returned)).toBe(true);
  });

  test("a stream whose client left has the outcome aborted", async () => {
    stack().provider.behaviour = { chunkDelayMs: 50, chunks: 200 };
    const leaving = new AbortController();
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}` },
      body: JSON.stringify({ ...CHAT, max_tokens: 400, stream: true }),
      signal: leaving.signal,
    });
    await reply.body?.getReader().read();
    leaving.abort();
    const id = await newestRequest();
    const receipt = await verified(id);
    expect(receipt).toMatchObject({ outcome: "aborted", charge: await chargeOf(id) });
    expect(receipt.hashes).toMatchObject({ returned: expect.any(String), answered: expect.any(String) });
  });

  test("a request that no provider answered is uncharged, and commits to the error", async () => {
    stack().provider.behaviour = {
      instead: { status: 500, contentType: "application/json", body: '{"error":{"message":"no"}}' },
    };
    const { id, status, returned } = await post("/v1/chat/completions", CHAT);
    expect(status).toBeGreaterThanOrEqual(500);
    const receipt = await verified(id);
    expect(receipt).toMatchObject({ outcome: "failed", charge: "0" });
    expect(commitsTo(receipt, "returned", returned)).toBe(true);
  });

  test("a response, a message, images, an edit and a transcript commit to all four bodies", async () => {
    const edit = new FormData();
    edit.set("model", SERVICES.edits.model);
    edit.set("prompt", "a sea");
    edit.set("image", new Blob([new Uint8Array(8)], { type: "image/png" }), "a.png");
    const audio = new FormData();
    audio.set("model", SERVICES.speech.model);
    audio.set("file", new Blob([toWav(2)], { type: "audio/wav" }), "a.wav");
    const calls = [
      ["/v1/responses", { model: MODEL, input: "What did it cost?", max_output_tokens: 4 }],
      ["/v1/responses", { model: MODEL, input: "What did it cost?", max_output_tokens: 4, stream: true }],
      ["/v1/messages", { model: SERVICES.messages.model, messages, max_tokens: 4 }],
      ["/v1/messages", { model: SERVICES.messages.model, messages, max_tokens: 4, stream: true }],
      [
        "/v1/images/generations",
        { model: SERVICES.images.model, prompt: "a sea", size: "8x8", response_format: "b64_json" },
      ],
      ["/v1/images/edits", edit],
      ["/v1/audio/transcriptions", audio],
    ] as const;
    for (const [path, body] of calls) {
      const { id, status, sent, returned } = await post(path, body);
      expect([path, status]).toEqual([path, 200]);
      const receipt = await verified(id);
      expect(receipt).toMatchObject({ endpoint: path, outcome: "completed", charge: await chargeOf(id) });
      // A form's boundary is chosen when it is sent.
      if (!(body instanceof FormData)) expect(commitsTo(receipt, "received", sent)).toBe(true);
      expect(commitsTo(receipt, "forwarded", forwarded ?? Buffer.alloc(0))).toBe(true);
      expect(commitsTo(receipt, "returned", returned)).toBe(true);
      expect(Object.values(receipt.hashes)).not.toContain(null);
    }
  });

  test("an image job commits to what the worker sent and received", async () => {
    const body = { model: SERVICES.images.model, prompt: "a sea", size: "8x8", response_format: "b64_json" };
    const { status, sent } = await post("/v1/async/images/generations", body).catch(() => ({
      status: 0,
      sent: Buffer.alloc(0),
    }));
    expect(status).toBe(202);
    const receipt = await verified(await newestRequest());
    expect(receipt).toMatchObject({
      endpoint: "/v1/async/images/generations",
      outcome: "completed",
      usage: { units: 1, input_tokens: null },
    });
    expect(commitsTo(receipt, "received", sent)).toBe(true);
    expect(receipt.hashes).toMatchObject({
      forwarded: expect.any(String),
      answered: expect.any(String),
      returned: null,
    });
  });

  test("a chat over GraphQL has no bytes of a client", async () => {
    const input = `{ model: "${MODEL}", messages: [{ role: "user", content: "Hello" }], maxTokens: 4 }`;
    const { errors } = await ask(
      stack().origin,
      owner.secret,
      `mutation { completeChat(input: ${input}) { completion { inputTokens } } }`,
    );
    expect(errors).toBeUndefined();
    const receipt = await verified(await newestRequest());
    expect(receipt).toMatchObject({ endpoint: "/graphql", outcome: "completed" });
    expect(receipt.hashes).toMatchObject({ received: null, returned: null, forwarded: expect.any(String) });
  });

  test("a verified answer has the verdict, and the provider's signature beside it", async () => {
    const { id } = await post("/v1/chat/completions", { ...CHAT, verify_tee: true });
    const { evidence, salt } = await verified(id);
    const { provider_signature: signature } = await bundleOf(id);
    expect(evidence).toMatchObject({ verdict: "verified", form: "hashes", response_bound: true });
    expect(signature).toMatchObject({ signing_address: evidence?.signer });
    const text = createHash("sha256")
      .update(signature?.text ?? "")
      .digest();
    const salted = createHash("sha256").update(hexToBytes(salt)).update(text).digest("hex");
    expect(evidence?.text).toBe(salted);
  });
});

describe("a receipt is", () => {
  test("pending until it is under a signed head, with the time to wait", async () => {
    const { id } = await post("/v1/chat/completions", CHAT);
    const first = await rest<RestFailure>(stack().origin, `/v1/receipts/${id}`, owner.secret);
    if (first.status !== 200) {
      expect([first.status, first.body.error.code]).toEqual([409, "receipt_pending"]);
      expect(Number(first.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    await verified(id);
  });

  test("for the key of the request, and for those that may read the account", async () => {
    const { id } = await post("/v1/chat/completions", CHAT);
    await verified(id);
    const { apiKeys, managementKeys } = stack().app;
    const otherKey = await apiKeys.create(owner.account, "other");
    const other = await seedAccount(stack().app.database, 10n ** 9n);
    const reader = await managementKeys.create(owner.account, "reader", ["account:read"]);
    const writer = await managementKeys.create(owner.account, "writer", ["keys:create"]);
    const statusFor = async (secret: string | undefined, of = id) =>
      (await rest(stack().origin, `/v1/receipts/${of}`, secret)).status;
    expect(await statusFor(owner.secret)).toBe(200);
    expect(await statusFor(reader.secret)).toBe(200);
    expect(await statusFor(writer.secret)).toBe(403);
    expect(await statusFor(otherKey.secret)).toBe(404);
    expect(await statusFor(other.secret)).toBe(404);
    expect(await statusFor(undefined)).toBe(401);
    expect(await statusFor(owner.secret, "req-unknown")).toBe(404);
  });

  test("served by GraphQL with the same proof", async () => {
    const { id } = await post("/v1/chat/completions", CHAT);
    const bundle = await bundleOf(id);
    const { secret } = await stack().app.managementKeys.create(owner.account, "graph", ["account:read"]);
    const { data } = await ask(
      stack().origin,
      secret,
      `{ request(id: "${id}") { receipt { canonicalJson signature charge hashes { returned } leafIndex
          inclusionProof { treeSize hashes checkpoint } } } }`,
    );
    const { receipt } = data.request;
    expect(JSON.parse(receipt.canonicalJson)).toEqual(bundle.receipt);
    expect(receipt).toMatchObject({
      signature: bundle.signature,
      charge: bundle.receipt.charge,
      hashes: { returned: bundle.receipt.hashes.returned },
      leafIndex: `${bundle.log.leaf_index}`,
    });
    expect(Number(receipt.inclusionProof.treeSize)).toBeGreaterThanOrEqual(bundle.log.tree_size);
  });
});

describe("the log", () => {
  test("has a signed head that anyone may read, and proves that it continues every earlier one", async () => {
    const { origin } = stack();
    const first = (await bundleOf((await post("/v1/chat/completions", CHAT)).id)).log;
    const second = (await bundleOf((await post("/v1/chat/completions", CHAT)).id)).log;
    const key = parseVerifierKey(stack().app.receipts.key.verifierKey);
    if (!key) throw new Error("the key is malformed");
    const earlier = openCheckpoint(first.checkpoint, key);
    type Proof = { size: number; hashes: string[]; checkpoint: string };
    const { body } = await rest<Proof>(origin, `/v1/receipts/consistency?from=${first.tree_size}`);
    const later = openCheckpoint(body.checkpoint, key);
    if (!earlier || !later) throw new Error("a head is not signed");
    expect(later.size).toBeGreaterThanOrEqual(second.tree_size);
    const claim = {
      ...{ from: earlier.size, fromRoot: earlier.root, size: later.size, root: later.root },
      proof: body.hashes.map(hexToBytes),
    };
    expect(verifyConsistency(claim)).toBe(true);
    const note = await fetch(`${origin}/v1/receipts/checkpoint`);
    expect(note.headers.get("content-type")).toContain("text/plain");
    expect(openCheckpoint(await note.text(), key)?.size).toBeGreaterThanOrEqual(later.size);
    const { data } = await ask(
      origin,
      undefined,
      `{ receiptLog { origin publicKey treeHead { size checkpoint } consistencyProof(from: "${first.tree_size}") { size hashes } } }`,
    );
    expect(data.receiptLog).toMatchObject({
      origin: key.name,
      publicKey: stack().app.receipts.key.verifierKey,
    });
    expect(Number(data.receiptLog.treeHead.size)).toBeGreaterThanOrEqual(later.size);
  });

  test.each(["-1", "1e3", "99999999999", ""])("refuses a proof from %j", async (from) => {
    const { status, body } = await rest<RestFailure>(stack().origin, `/v1/receipts/consistency?from=${from}`);
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_parameter", "from"]);
  });
});
