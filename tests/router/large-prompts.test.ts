// @module-tag large
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { providerBody, readChatRequest } from "../../src/inference/chat/chat-request.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { postThenRead } from "../support/clients/raw-http.ts";
import { useRouter } from "../support/router.ts";

/**
 * 50 ms on an otherwise idle machine (`request-body.test.ts`); the client and the provider, on the same thread, write
 * and read the same 30 MiB in one turn each.
 */
const MAX_TURN_MS = 500;
const IMAGE_BYTES = 30 * 1_048_576;
const IMAGE = "A".repeat(IMAGE_BYTES);
const offer = {
  id: "sees",
  supported_formats: ["openai", "anthropic"],
  pricing: { prompt: "2", completion: "3" },
};
const router = await useRouter({ models: [], count: 1, more: () => [offer] });

const inChat = (data = IMAGE) => ({
  model: "sees",
  max_tokens: 5,
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
      ],
    },
  ],
});
const inMessage = {
  model: "sees",
  max_tokens: 5,
  messages: [
    {
      role: "user",
      content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE } }],
    },
  ],
};
const whole = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "sees", stop_reason: "end_turn" },
  content: [{ type: "text", text: "a" }],
  usage: { input_tokens: 9, output_tokens: 1 },
};

async function send(path: string, body: string | Buffer) {
  const { secret } = await router().seed(10n ** 18n);
  const reply = await fetch(`${router().origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body,
  });
  return { status: reply.status, body: (await reply.json()) as { error?: { code: string; type: string } } };
}

test.each([
  ["/v1/chat/completions", inChat()],
  ["/v1/messages", inMessage],
])(
  "an image of 30 MiB passes %s unchanged in short turns, also where a field is removed",
  async (path, body) => {
    const [provider] = router().scripted;
    provider?.scripts.set("sees", (call, response) => {
      const chat = { id: "x", object: "chat.completion", created: 1, model: "sees" };
      const choices = [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
      const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
      const answer = call.path.endsWith("/messages") ? whole : { ...chat, choices, usage };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    const plain = JSON.stringify(body);
    const extended = `${plain.slice(0, -1)},"verify_tee":false}`;
    for (const text of [plain, extended]) {
      const bytes = Buffer.from(text);
      let status = 0;
      const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
        status = (await send(path, bytes)).status;
      });
      expect(status).toBe(200);
      expect(turnMs).toBeLessThan(MAX_TURN_MS);
      const sent = provider?.calls.at(-1)?.bytes.toString();
      if (text === plain) expect(sent === plain).toBe(true);
      else expect(JSON.parse(sent ?? "")).toEqual(body);
    }
  },
);

test("a large body is limited and forwarded like a small one", async () => {
  const small = await readChatRequest(Buffer.from(JSON.stringify(inChat("A".repeat(1_000)))));
  const large = await readChatRequest(Buffer.from(JSON.stringify(inChat())));
  expect(large.prompt.maxTokens).toBe(small.prompt.maxTokens);
  const words = 'é "quoted"\n'.repeat(300_000);
  const body = Buffer.from(
    JSON.stringify({
      model: "sees",
      provider: { sort: "price" },
      messages: [{ role: "user", content: words }],
    }),
  );
  const request = await readChatRequest(body);
  expect(request.prompt.maxTokens).toBe(body.length + 256);
  const sent = JSON.parse(providerBody(request, 7).toString("utf8"));
  expect(sent).toEqual({ model: "sees", messages: [{ role: "user", content: words }], max_tokens: 7 });
});

const LONG = "a".repeat(3 * 1_048_576);
const NAME = "k".repeat(2_000);
const chat = (content: string) => `{"model":"sees","messages":[{"role":"user","content":"${content}"}]}`;

test.each<[string, string, string]>([
  ["an invalid escape", chat(`${LONG}\\x`), "body"],
  ["half of a surrogate pair", chat(`${LONG}\\ud83d`), "body"],
  ["a truncated escape", chat(`${LONG}\\u12`), "body"],
  ["the end of a line", chat(`${LONG}\n`), "body"],
  ["another control character", chat(`\u0001${LONG}`), "body"],
  ["a field twice", chat(LONG).replace('"role"', '"content":"b","role"'), "messages.0.content"],
  ["a long name twice", chat(LONG).replace("{", `{"${NAME}":1,"${NAME}":2,`), `${NAME.slice(0, 256)}...`],
])("a large body with %s in it is refused like a small one", async (_what, text, param) => {
  const [provider] = router().scripted;
  const before = provider?.calls.length;
  const { status, body } = await send("/v1/chat/completions", text);
  expect([status, body]).toMatchObject([400, { error: { code: "invalid_body", param } }]);
  expect(provider?.calls.length).toBe(before);
});

test.each(["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"])(
  "a long text where a short one is required is refused by its name at %s",
  async (path) => {
    const fields = { model: "sees", max_tokens: 3, messages: [{ role: "user", content: "a" }] };
    const refusal = async (changed: object) => {
      const { status, body } = await send(path, JSON.stringify({ ...fields, ...changed }));
      return [status, (body as { error?: { message?: string } }).error?.message];
    };
    expect(await refusal({ model: LONG })).toEqual([400, "model: must have 1 to 256 characters"]);
    expect(await refusal({ provider: { address: LONG } })).toEqual([
      400,
      "provider.address: must have less than 1,024 bytes",
    ]);
    const [status, message] = await refusal({ messages: [{ role: LONG, content: "a" }] });
    expect([status, message]).toEqual([400, expect.stringMatching(/^messages\.0\.role: /)]);
    expect(message).not.toContain("elided");
  },
);

test("a large body of many texts is accepted, unless its texts below 257 bytes have more than 2 MiB", async () => {
  const bodyOf = (words: number) => {
    const parts = Array.from({ length: 10_000 }, () => ({ type: "text", text: "word ".repeat(words) }));
    return JSON.stringify({ model: "sees", messages: [{ role: "user", content: parts }] });
  };
  expect((await send("/v1/chat/completions", bodyOf(100))).status).toBe(200);
  const { status, body } = await send("/v1/chat/completions", bodyOf(50));
  expect([status, body.error]).toMatchObject([400, { code: "invalid_body", param: "messages" }]);
});

test.each([
  ["/v1/chat/completions", { code: "body_too_large" }],
  ["/v1/messages", { code: "body_too_large", type: "request_too_large" }],
])("a body above 32 MiB is 413 at %s, and its client can read the answer", async (path, error) => {
  const text = JSON.stringify(inChat("A".repeat(40 * 1_048_576)));
  for (let n = 0; n < 3; n++) expect(await send(path, text)).toMatchObject({ status: 413, body: { error } });
});

test.each(["/v1/chat/completions", "/v1/messages"])(
  "a client that reads nothing before it has sent a body that is too large gets its 413 from %s",
  async (path) => {
    const { secret } = await router().seed();
    const body = Buffer.from(JSON.stringify(inChat("A".repeat(40 * 1_048_576))));
    const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
    for (let n = 0; n < 3; n++)
      expect(await postThenRead(router().origin, path, { body, headers })).toMatch(/^HTTP\/1\.1 413 /);
  },
);

test("a client that reads nothing before it has sent a body gets its 503 when there is no memory for it", async () => {
  const { memory } = router().app.load;
  const { secret, account } = await router().seed();
  const held = memory.open({ kind: "account", id: account });
  held.reserve(100 * 1_048_576);
  const body = Buffer.from(JSON.stringify(inChat()));
  const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
  for (let n = 0; n < 3; n++) {
    const head = await postThenRead(router().origin, "/v1/chat/completions", { body, headers });
    expect(head).toMatch(/^HTTP\/1\.1 503 /);
    expect(head.toLowerCase()).toMatch(/\r\nretry-after: 1\r\n/);
  }
  held.release();
});

test("in the end the ledger is consistent and no hold is open", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
