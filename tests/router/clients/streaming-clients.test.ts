import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { startLoopClock } from "../../support/attack/event-loop.ts";
import { AI_CLIENTS, codeOf, PLAIN_READERS } from "../../support/clients/ai-clients.ts";
import { MAX_LAG_MS } from "../../support/follow-together.ts";
import {
  DONE,
  event,
  FINISH,
  openStream,
  ROLE,
  TEXT,
  USAGE_CHUNK,
  WORDS,
} from "../../support/inference/scripted-provider.ts";
import { scaled } from "../../support/machine.ts";
import { useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const MODELS = ["whole", "broken", "resumed"] as const;
type Model = (typeof MODELS)[number];
const pricing = { prompt: "2", completion: "3" };
const router = await useRouter({
  models: [],
  more: () => MODELS.map((id) => ({ id, pricing, supported_formats: ["openai", "anthropic"] })),
  count: 1,
  settings: {
    STREAM_KEEP_ALIVE_MS: "300",
    // The provider is silent until the test resumes it.
    PROVIDER_FIRST_BYTE_MS: "60000",
    PROVIDER_FIRST_TOKEN_MS: "60000",
    PROVIDER_SILENCE_MS: "60000",
    PROVIDER_TOTAL_MS: "60000",
  },
});

const READERS = { ...PLAIN_READERS, ...AI_CLIENTS };
const NAMES = Object.keys(READERS);
/** After so many words the provider pauses. */
const PAUSES: readonly number[] = [0, 4];

/** One event of Anthropic's format. */
function named(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

const message = { id: "msg_1", type: "message", role: "assistant", model: "scripted", content: [] };
/** An answer in each of the formats. */
const FORMATS = {
  openai: {
    begin: ROLE,
    word: (content: string) => event({ delta: { content } }),
    end: FINISH + USAGE_CHUNK + DONE,
  },
  anthropic: {
    begin:
      named("message_start", { message: { ...message, usage: { input_tokens: 9, output_tokens: 1 } } }) +
      named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    word: (text: string) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    end:
      named("content_block_stop", { index: 0 }) +
      named("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 8 } }) +
      named("message_stop"),
  },
} as const;

/** Makes the provider begin an answer to each request. `write` continues all of them at once. */
function conduct(model: Model) {
  const open: { readonly response: ServerResponse; readonly format: keyof typeof FORMATS }[] = [];
  const scripts = router().scripted[0]?.scripts;
  scripts?.set(model, ({ path }, response) => {
    const format = path.endsWith("/messages") ? "anthropic" : "openai";
    openStream(response).write(FORMATS[format].begin);
    open.push({ response, format });
  });
  return {
    begun: () => until(() => open.length === NAMES.length),
    write(...words: readonly string[]) {
      for (const { response, format } of open) response.write(words.map(FORMATS[format].word).join(""));
    },
    end() {
      for (const { response, format } of open) response.end(FORMATS[format].end);
    },
    breakOff(isDown: boolean) {
      if (isDown) scripts?.set(model, (_, response) => void response.destroy());
      for (const { response } of open.splice(0)) response.destroy();
    },
  };
}

/** Streams one answer with every client. */
async function readTogether(model: Model) {
  const { seed, origin } = router();
  const { secret } = await seed();
  const clock = startLoopClock();
  const readers = Object.entries(READERS).map(([name, read]) => {
    const own = { name, texts: [] as string[], timesMs: [] as number[], keepAlives: 0 };
    const onText = (text: string) => {
      own.texts.push(text);
      own.timesMs.push(clock.nowMs());
    };
    const onComment = (comment: string) => {
      if (comment.includes("keep-alive")) own.keepAlives += 1;
    };
    const end = read({ origin, secret, model, onText, onComment }).catch((error: unknown) => error);
    return Object.assign(own, { end });
  });
  const plain = readers.filter(({ name }) => name in PLAIN_READERS);
  return {
    readers,
    clock,
    received: (count: number) => until(() => readers.every(({ texts }) => texts.length >= count)),
    /** Resolves when comments have kept the connections open. */
    async keptAlive() {
      const before = plain.map(({ keepAlives }) => keepAlives);
      await until(() => plain.every(({ keepAlives }, at) => keepAlives >= (before[at] ?? 0) + 2));
    },
    /** How each client's answer ended. */
    async ends() {
      const ends = await Promise.all(readers.map(async ({ name, end }) => [name, await end] as const));
      clock.stop();
      return Object.fromEntries(ends);
    },
  };
}

const STOPS = Object.fromEntries(
  NAMES.map((name) => [name, /anthropic|message/.test(name) ? "end_turn" : "stop"]),
);

test(`every client receives the same texts in order, each within ${MAX_LAG_MS} ms, also after a pause with only comments`, async () => {
  const provider = conduct("whole");
  const { readers, clock, received, keptAlive, ends } = await readTogether("whole");
  await provider.begun();
  const lagsMs: number[][] = [];
  for (const [index, word] of WORDS.entries()) {
    if (PAUSES.includes(index)) await keptAlive();
    const sentMs = clock.nowMs();
    provider.write(word);
    await received(index + 1);
    lagsMs.push(readers.map(({ timesMs }) => (timesMs[index] ?? Number.POSITIVE_INFINITY) - sentMs));
  }
  provider.end();
  expect(await ends()).toEqual(STOPS);
  for (const { name, texts } of readers) expect(texts, name).toEqual(WORDS);
  expect(Math.max(...lagsMs.flat()), JSON.stringify(lagsMs)).toBeLessThanOrEqual(scaled(MAX_LAG_MS));
});

test("every client receives the error code of a broken stream, after the preceding content", async () => {
  const provider = conduct("broken");
  const { readers, received, ends } = await readTogether("broken");
  await provider.begun();
  provider.write(WORDS[0]);
  await received(1);
  provider.breakOff(true);
  for (const [name, failure] of Object.entries(await ends())) {
    expect(failure, name).toBeInstanceOf(Error);
    expect(codeOf(failure), name).toBe("upstream_error");
  }
  for (const { name, texts } of readers) expect(texts, name).toEqual([WORDS[0]]);
});

test("no client notices that the provider disconnected and was retried", async () => {
  const provider = conduct("resumed");
  const { readers, received, ends } = await readTogether("resumed");
  await provider.begun();
  provider.write(...WORDS.slice(0, 4));
  await received(4);
  provider.breakOff(false);
  await provider.begun();
  provider.write(...WORDS);
  provider.end();
  expect(await ends()).toEqual(STOPS);
  for (const { name, texts } of readers) expect(texts.join(""), name).toBe(TEXT);
});
