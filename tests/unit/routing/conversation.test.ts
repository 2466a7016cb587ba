import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readPromptFields } from "../../../src/inference/body/request-fields.ts";
import { CHAT_REQUEST } from "../../../src/inference/chat/chat-request.ts";
import { type ConversationRequest, conversationOf } from "../../../src/inference/routing/conversation.ts";
import { PromptCachesService } from "../../../src/inference/routing/prompt-caches.service.ts";
import { mergePreferences } from "../../../src/inference/routing/routing-preferences.ts";
import { timeTurn } from "../../support/attack/event-loop.ts";
import { addressOf } from "../../support/inference/offers.ts";

const LONG = { inputTokens: 1_000 };

function of(request: Partial<ConversationRequest>, account = "0xa"): string | undefined {
  return conversationOf({ account, preferences: {}, ...LONG, ...request });
}

const turn = (role: string, content: unknown) => ({ role, content });
const SYSTEM = turn("system", "You are a sailor. ".repeat(100));
const ASKED = turn("user", "What is the sea?");

describe("a conversation is known", () => {
  test("by its session id, else by its cache key, else by its first messages", () => {
    const promptStart = { messages: [SYSTEM, ASKED] };
    const ids = [
      of({ promptStart, preferences: { sessionId: "s", cacheKey: "k" } }),
      of({ promptStart, preferences: { cacheKey: "k" } }),
      of({ promptStart }),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(of({ preferences: { sessionId: "s" } })).toBe(ids[0]);
    expect(of({ preferences: { cacheKey: "k" } })).toBe(ids[1]);
    expect(of({ preferences: { cacheKey: "s" } })).not.toBe(ids[0]);
  });

  test.each([
    ["OpenAI's", [SYSTEM, ASKED], undefined],
    ["Anthropic's", [ASKED], "You are a sailor. ".repeat(100)],
    ["with parts", [SYSTEM, turn("user", [{ type: "text", text: "What is the sea?" }])], undefined],
    ["without a system prompt", [turn("user", "What is the sea? ".repeat(100))], undefined],
  ])("in all its turns: %s", (_, messages, system) => {
    const [first, second] = [1, 9].map((turns) =>
      of({
        promptStart: { system, messages: [...messages, ...Array(turns).fill(turn("assistant", "Water."))] },
      }),
    );
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(second).toBe(first);
  });

  test("apart from one with another system prompt or another question", () => {
    const ids = [
      [SYSTEM, ASKED],
      [turn("system", "You are a pilot."), ASKED],
      [SYSTEM, turn("user", "What is a ship?")],
      [ASKED],
      [turn("user", `${SYSTEM.content}${ASKED.content}`)],
    ].map((messages) => of({ promptStart: { messages } }));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("whatever follows the first characters of a message, and wherever the client moves its cache breakpoints", () => {
    const document = "water ".repeat(1_000);
    const ids = ["Who?", "Why?"].map((question) =>
      of({ promptStart: { messages: [turn("user", document + question)] } }),
    );
    expect(ids[0]).toBe(ids[1]);
    const part = { type: "text", text: document };
    const marked = { ...part, cache_control: { type: "ephemeral" } };
    expect(of({ promptStart: { messages: [turn("user", [marked])] } })).toBe(
      of({ promptStart: { messages: [turn("user", [part])] } }),
    );
  });

  test("of a growing text prompt", () => {
    const [short, long] = [61, 600].map((times) =>
      of({ promptStart: { prompt: "const water = 1;\n".repeat(times) } }),
    );
    expect(short).toBe(long);
    expect(of({ promptStart: { prompt: Array.from({ length: 60_000 }, (_, at) => at) } })).toBeDefined();
  });

  test("in a body whose long strings are not parsed", async () => {
    const body = (text: string, more: readonly object[] = []) =>
      Buffer.from(JSON.stringify({ model: "m", messages: [turn("user", text), ...more] }));
    const idOf = async (bytes: Buffer) =>
      of({ promptStart: (await readPromptFields(CHAT_REQUEST, bytes)).fields });
    const text = "The sea is wide. ".repeat(200_000);
    const first = await idOf(body(text));
    expect(await idOf(body(text, [turn("assistant", "Yes."), turn("user", "And deep?")]))).toBe(first);
    expect(await idOf(body(text.replaceAll("sea", "sky")))).not.toBe(first);
  });

  test("by the session id of the body, else of the headers, which decide everything else", () => {
    const headers = { sort: "price", sessionId: "header" } as const;
    const body = { sort: "latency", cacheKey: "key" } as const;
    expect(mergePreferences(body, headers)).toEqual({ ...headers, cacheKey: "key" });
    expect(mergePreferences({ ...body, sessionId: "body" }, headers)).toEqual({
      ...{ sort: "price", sessionId: "body", cacheKey: "key" },
    });
    expect(mergePreferences(body, undefined)).toEqual(body);
  });

  test("not if its prompt is short and it has no id", () => {
    expect(of({ inputTokens: 255, promptStart: { messages: [ASKED] } })).toBeUndefined();
    expect(
      of({ inputTokens: 255, promptStart: { messages: [ASKED] }, preferences: { sessionId: "s" } }),
    ).toBeDefined();
    expect(of({})).toBeUndefined();
  });

  test("of one account only", () => {
    for (const request of [
      { preferences: { sessionId: "s" } },
      { preferences: { cacheKey: "s" } },
      { promptStart: { messages: [SYSTEM, ASKED] } },
    ])
      expect(of(request, "0xa")).not.toBe(of(request, "0xb"));
  });
});

test("any JSON as the start of a prompt gives a hash of one length, and the same one again", () => {
  const some = fc.record({ system: fc.jsonValue(), messages: fc.jsonValue(), prompt: fc.jsonValue() });
  fc.assert(
    fc.property(
      fc.oneof(
        some,
        some.map(({ system, messages }) => ({ system, messages: [messages] })),
      ),
      (promptStart) => {
        const id = of({ promptStart });
        expect(id).toMatch(/^[\w-]{43}$/);
        expect(of({ promptStart: structuredClone(promptStart) })).toBe(id);
      },
    ),
  );
});

test("no prompt takes long to hash", () => {
  const wide = Array.from({ length: 60_000 }, () => ({}));
  const deep = JSON.parse(`${"[".repeat(64)}${"]".repeat(64)}`) as unknown;
  const names = Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => ["n".repeat(900) + at, null]));
  for (const content of [wide, deep, names, "x".repeat(2_000_000)]) {
    const promptStart = { system: content, messages: [turn("user", content)] };
    const times = Array.from({ length: 3 }, () => timeTurn(() => of({ promptStart })).ms);
    expect(Math.min(...times)).toBeLessThan(5);
  }
});

describe("the provider of a conversation", () => {
  const usage = (inputTokens: number, read?: number) => ({
    inputTokens,
    outputTokens: 5,
    ...(read !== undefined && { cache: { read, write: 0, write1h: 0 } }),
  });
  const stated = { isStated: true };
  function open() {
    const clock = { nowMs: 0 };
    const caches = new PromptCachesService({ now: () => new Date(0), monotonicMs: () => clock.nowMs });
    const answer = (n: number, ...[inputTokens, read]: Parameters<typeof usage>) =>
      caches.answered("c", { address: addressOf(n), model: "m" }, usage(inputTokens, read), stated);
    return { caches, clock, answer, warm: () => caches.of("c", "m") };
  }

  test("is expected to have cached the last prompt, until five minutes after it", () => {
    const { caches, clock, answer, warm } = open();
    expect(warm()).toBeUndefined();
    answer(1, 100);
    expect(warm()).toEqual({ provider: addressOf(1), tokens: 100 });
    expect(caches.of("c", "other")).toBeUndefined();
    expect(caches.of("other", "m")).toBeUndefined();
    clock.nowMs = 299_999;
    expect(warm()).toBeDefined();
    clock.nowMs = 300_000;
    expect(warm()).toBeUndefined();
  });

  test("is the one that answered last", () => {
    const { answer, warm } = open();
    answer(1, 100);
    answer(2, 200);
    expect(warm()).toEqual({ provider: addressOf(2), tokens: 200 });
  });

  test("is believed to cache as much as it reports", () => {
    const { answer, warm } = open();
    answer(1, 1_000, 0);
    expect(warm()?.tokens).toBe(1_000);
    answer(1, 2_000, 1_000);
    expect(warm()?.tokens).toBe(2_000);
    answer(1, 2_000, 500);
    expect(warm()?.tokens).toBe(500);
    answer(1, 3_000);
    expect(warm()?.tokens).toBe(0);
    answer(1, 3_000, 9_000);
    expect(warm()?.tokens).toBe(3_000);
  });

  test("is not judged by usage that it did not report", () => {
    const { caches, answer, warm } = open();
    answer(1, 1_000, 0);
    caches.answered("c", { address: addressOf(1), model: "m" }, usage(2_000), { isStated: false });
    expect(warm()?.tokens).toBe(2_000);
  });

  test("is forgotten when there are too many conversations", () => {
    const { caches, answer, warm } = open();
    answer(1, 1_000);
    for (let number = 0; number < 30_000; number++)
      caches.answered(`c${number}`, { address: addressOf(1), model: "m" }, usage(1), stated);
    expect(warm()).toBeUndefined();
  });
});
