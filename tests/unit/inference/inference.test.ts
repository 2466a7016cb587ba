import fc from "fast-check";
import { expect, test } from "vitest";
import { affordableTokens, costOf, quoteChat } from "../../../src/inference/billing/pricing.ts";
import { countPromptTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import { appendFields } from "../../../src/inference/body/request-fields.ts";
import { providerBody, readChatRequest } from "../../../src/inference/chat/chat-request.ts";
import { EventScanner, eventData } from "../../../src/inference/dispatch/event-scanner.ts";
import { timeTurn } from "../../support/attack/event-loop.ts";

const messages = [{ role: "user", content: "hi" }];

function request(fields: object) {
  return readChatRequest(Buffer.from(JSON.stringify({ model: "m", messages, ...fields })));
}

test("a stream is split into its events, wherever the network splits it, and no byte is lost or changed", () => {
  const event = fc
    .string({ unit: "grapheme", maxLength: 20 })
    .map((text) => `data: ${JSON.stringify({ text })}\n\n`);
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.nat(30)), (events, cuts) => {
      const whole = Buffer.from(events.join(""));
      const scanner = new EventScanner();
      const seen: Buffer[] = [];
      let at = 0;
      for (const cut of [...cuts, whole.length]) {
        seen.push(...scanner.push(whole.subarray(at, at + cut)));
        at += cut;
      }
      expect(seen.map(String)).toEqual(events);
    }),
  );
});

test("an event may end with CR LF or be too long, and a comment is no event", () => {
  const scanner = new EventScanner({ maxBytes: 64 });
  expect(scanner.push(Buffer.from("data: 1\r\n\r\n: ping\n\ndata: [DONE]\n\n")).map(eventData)).toEqual([
    "1",
    "[DONE]",
  ]);
  expect(() => scanner.push(Buffer.alloc(65, "x"))).toThrow("too long");
});

test.each([1, 2, 3, 7, 1_000])(
  "a stream in pieces of %s bytes is parsed as the standard requires",
  (size) => {
    const whole = Buffer.from(
      '\ufeffdata: 1\n\ndata:{"a":\n: in it\ndata: 2}\n\n\n: ping\ndatum: 1\r\rdata: 3\rid: 4\r\r\r\r\nevent: x\r\n: c\r\ndata: 5\r\n\r\ndata\ndata: 6\n\ndata:\n\nid: 1\n\ndata: [DONE]\r\r',
    );
    const scanner = new EventScanner();
    const seen: Buffer[] = [];
    for (let at = 0; at < whole.length; at += size) seen.push(...scanner.push(whole.subarray(at, at + size)));
    expect(seen.map(eventData)).toEqual(["1", '{"a":\n2}', "3", "5", "6", "[DONE]"]);
    expect(seen.some((event) => /\ufeff|\r|^:|^\n/m.test(event.toString().slice(0, -1)))).toBe(false);
    expect(scanner.remainder.length).toBe(0);
  },
);

test("an event that arrives byte by byte or line by line is searched once", () => {
  const scanner = new EventScanner();
  const event = Buffer.from(`${"id: a\n".repeat(150_000)}data: b\n\n`);
  const seen: Buffer[] = [];
  const { ms } = timeTurn(() => {
    for (let at = 0; at < event.length; at += 16) seen.push(...scanner.push(event.subarray(at, at + 16)));
  });
  expect(seen.map(String)).toEqual([event.toString()]);
  expect(ms).toBeLessThan(2_000);
});

test("comments stay in the router's own streams, and what is no event is dropped wherever the network splits it", () => {
  const own = new EventScanner({ keepsComments: true });
  expect(own.push(Buffer.from(": a\n\ndata: 1\n\n")).map(String)).toEqual([": a\n\n", "data: 1\n\n"]);
  const noise = fc.constantFrom(
    "\n",
    "\r\n",
    ": x\n\n",
    "data:\n\n",
    "id: 7\n\n",
    ": data\n\n",
    "event: a\n: b\n\n",
  );
  const event = fc.constantFrom(
    "data: 1\n\n",
    "event: a\ndata: 2\n\n",
    "data: 3\nid: 4\n\n",
    "data\ndata: 5\n\n",
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.array(noise), event)), fc.nat(12), (parts, size) => {
      const whole = Buffer.from(parts.map(([before, after]) => before.join("") + after).join(""));
      const scanner = new EventScanner();
      const seen: Buffer[] = [];
      for (let at = 0; at < whole.length; at += size + 1)
        seen.push(...scanner.push(whole.subarray(at, at + size + 1)));
      expect(seen.map(String)).toEqual(parts.map(([, after]) => after));
      expect(scanner.remainder).toHaveLength(0);
    }),
  );
});

test("an event of a million lists is malformed, and one with a long text is not", () => {
  expect(() => eventData(Buffer.from(`data: [${"[],".repeat(300_000)}0]\n\n`))).toThrow("too many values");
  const text = JSON.stringify({ text: "a".repeat(900_000) });
  expect(eventData(Buffer.from(`data: ${text}\n\n`))).toBe(text);
});

test("a quote covers every answer within its limit, and the hold affords exactly that", () => {
  const price = fc.record({ inputPrice: fc.bigInt(0n, 10n ** 18n), outputPrice: fc.bigInt(0n, 10n ** 18n) });
  const ask = fc.record({
    promptTokens: fc.nat(10_000),
    modelLimit: fc.integer({ min: 1, max: 10_000 }),
    choices: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(price, ask, (prices, asked) => {
      const quote = quoteChat({ ...asked, maxTokens: undefined }, prices);
      expect(quote.minimum).toBeLessThanOrEqual(quote.maximum);
      const tokens = affordableTokens(asked, prices, quote.maximum);
      expect(tokens).toBe(asked.modelLimit);
      const spent = costOf({ inputTokens: asked.promptTokens, outputTokens: tokens * asked.choices }, prices);
      expect(spent.total).toBe(quote.maximum);
      expect(affordableTokens(asked, prices, quote.minimum)).toBeGreaterThanOrEqual(1);
    }),
  );
});

test("a body without changes is forwarded byte for byte, including whitespace, order and long numbers", async () => {
  const bytes = Buffer.from(
    '{ "model":"m", "seed": 12345678901234567890, "max_tokens": 5,\n "messages":[{"role":"user","content":"é"}] }',
  );
  expect(providerBody(await readChatRequest(bytes), 99)).toBe(bytes);
  const streamed = Buffer.from(
    '{"model":"m","seed":12345678901234567890,"stream":true,"messages":[{"role":"user","content":"x"}]} ',
  );
  expect(providerBody(await readChatRequest(streamed), 99).toString()).toBe(
    '{"model":"m","seed":12345678901234567890,"stream":true,"messages":[{"role":"user","content":"x"}],"stream_options":{"include_usage":true},"max_tokens":99}',
  );
});

test("fields for the router are not forwarded, and the client's other stream options are", async () => {
  const body = providerBody(
    await request({
      stream: true,
      stream_options: { chunk_size: 3 },
      provider: { sort: "price" },
      verify_tee: true,
      top_k: 4,
    }),
    7,
  );
  expect(JSON.parse(body.toString())).toEqual({
    model: "m",
    messages,
    stream: true,
    stream_options: { chunk_size: 3, include_usage: true },
    top_k: 4,
    max_tokens: 7,
  });
});

test("of two names of the token limit the greater counts, and a null limit is no limit", async () => {
  expect((await request({ max_completion_tokens: 3, max_tokens: 9 })).maxTokens).toBe(9);
  expect((await request({ max_completion_tokens: 9, max_tokens: 3 })).maxTokens).toBe(9);
  expect((await request({ max_completion_tokens: 3, max_tokens: null })).maxTokens).toBe(3);
  expect((await request({ max_tokens: null })).maxTokens).toBeUndefined();
  expect(JSON.parse(providerBody(await request({ max_tokens: null }), 7).toString()).max_tokens).toBe(7);
});

test("fields are appended to any object", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string().filter((key) => key !== "__proto__"),
        fc.jsonValue(),
        { minKeys: 1 },
      ),
      (object) => {
        const bytes = appendFields(Buffer.from(JSON.stringify(object)), { "the trace": { cost: "1" } });
        expect(JSON.parse(bytes.toString())).toEqual({
          ...JSON.parse(JSON.stringify(object)),
          "the trace": { cost: "1" },
        });
      },
    ),
  );
});

test("tokens are counted in time linear in the text, whatever it contains", () => {
  expect(countTokens("hello world")).toBe(2);
  expect(countTokens("<|endoftext|>")).toBeGreaterThan(1);
  const { ms } = timeTurn(() => {
    for (const text of ["漢", "a", " ", "!@#", "\n"])
      expect(countTokens(text.repeat(100_000))).toBeGreaterThan(100);
  });
  expect(ms).toBeLessThan(10_000);
});

test("a prompt counts its texts, parts, names and tool calls", () => {
  const plain = countPromptTokens([{ role: "user", content: "hello world" }]);
  expect(countPromptTokens([{ role: "user", content: [{ type: "text", text: "hello world" }] }])).toBe(plain);
  expect(countPromptTokens([{ role: "user", name: "ann", content: "hello world" }])).toBeGreaterThan(plain);
  expect(
    countPromptTokens([
      { role: "assistant", tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }] },
    ]),
  ).toBeGreaterThan(5);
});
