import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { nativeEvents, nativeResponse } from "../../support/inference/native-responses.ts";
import {
  completion,
  DONE,
  event,
  FINISH,
  openStream,
  ROLE,
  type Script,
  USAGE,
  USAGE_CHUNK,
} from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const pricing = { prompt: "2", completion: "3" };
const FORMATS = ["openai", "anthropic", "responses", "completions"];
const router = await useRouter({
  models: ["same"],
  count: 1,
  more: () => [
    { id: "named", upstream_id: "theirs", pricing },
    { id: "paint", pricing: { image: "2" }, service_type: "text-to-image" },
    { id: "embed", pricing: { prompt: "2" }, service_type: "embedding" },
    ...FORMATS.map((format) => ({ id: format, pricing, supported_formats: [format] })),
  ],
  settings: { RESUME_STREAMS: "off" },
});

const word = (content: string, index = 0) => event({ index, delta: { content } });
const MESSAGES = [{ role: "user", content: "hi" }];
/** A bill as a provider would forge it. */
const FORGED = { request_id: "forged", provider: "forged", billing: { total_cost: "0" } };
const TRACE = { x_0g_trace: FORGED };

async function post(path: string, body: object): Promise<{ seeded: Seeded; text: string }> {
  const seeded = await router().seed();
  const reply = await fetch(`${router().origin}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({ max_tokens: 50, ...body }),
  });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  return { seeded, text };
}

/** Streams these events as the answer of a chat. */
function streamed(model: string, pieces: readonly string[], body: object = {}) {
  const upstream = model === "named" ? "theirs" : model;
  router().scripted[0]?.scripts.set(
    upstream,
    (_, response) => void openStream(response).end(pieces.join("")),
  );
  return post("/chat/completions", { model, messages: MESSAGES, stream: true, ...body });
}

/** The data of a stream's events, parsed, without `[DONE]`. */
function dataOf(text: string) {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""));
}

function endOf({ account }: Seeded) {
  return until(async () => {
    const { rows } = await router().app.requests.list(account, { first: 1 });
    return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
  });
}

const NO_CHUNKS = [
  ": OPENROUTER PROCESSING\n\n",
  "\n\n\n",
  "data:\n\n",
  "data: \n\n",
  "id: 7\nretry: 1\n\n",
  "event: ping\ndata: {}\n\n",
  'event: ping\ndata: {"type":"ping"}\n\n',
  'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":null}\n\n',
];

test.each(["same", "named"])(
  "what is no chunk never becomes one, from a provider of the model %s",
  async (model) => {
    const pieces = [ROLE, word("a"), word("b"), FINISH, USAGE_CHUNK, DONE];
    const { text } = await streamed(
      model,
      pieces.flatMap((piece) => [...NO_CHUNKS, piece]),
    );
    const chunks = dataOf(text);
    expect(chunks).toHaveLength(4);
    expect(chunks.every(({ id, object, choices }) => id && object && choices.length === 1)).toBe(true);
    expect(chunks.map(({ choices }) => choices[0].delta.content ?? "").join("")).toBe("ab");
    expect(text.endsWith(DONE)).toBe(true);
  },
);

test.each([
  ["an object", 'data: {"message":"boom http://10.0.0.5:8080/x","type":"server_error"}'],
  ["an error", 'data: {"error":{"message":"boom http://10.0.0.5:8080/x"}}'],
  ["text", "data: boom http://10.0.0.5:8080/x"],
  ["nothing", "data:"],
])("an event named error, whose data is %s, is an error that is not passed on", async (_what, data) => {
  for (const lines of [`event: error\n${data}`, `${data}\nevent:error`]) {
    const { text, seeded } = await streamed("same", [ROLE, word("a"), `${lines}\n\n`, FINISH, DONE]);
    expect(text).not.toMatch(/boom|10\.0\.0\.5|event: error|\[DONE\]/);
    expect(dataOf(text).at(-1)).toMatchObject({ error: { code: "upstream_error" } });
    expect(await endOf(seeded)).toMatchObject({ status: "failed" });
  }
});

test("an event named error is an error in Anthropic's format and in that of responses", async () => {
  const failing = 'event: error\ndata: {"message":"boom http://10.0.0.5:8080/x"}\n\n';
  const scripts = router().scripted[0]?.scripts;
  const [first = "", ...others] = MESSAGE_EVENTS;
  scripts?.set(
    "anthropic",
    (_, response) =>
      void openStream(response).end([first, ...others.slice(0, 2), failing, ...others.slice(2)].join("")),
  );
  scripts?.set(
    "responses",
    (_, response) => void openStream(response).end([...nativeEvents().slice(0, 6), failing].join("")),
  );
  const message = await post("/messages", { model: "anthropic", messages: MESSAGES, stream: true });
  const response = await post("/responses", {
    model: "responses",
    input: "hi",
    max_tokens: undefined,
    stream: true,
  });
  for (const { text } of [message, response]) {
    expect(text).not.toMatch(/boom|10\.0\.0\.5/);
    expect(text).toContain("upstream_error");
  }
});

const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "theirs" };
const line = (value: Readonly<Record<string, unknown>>) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const messageEvents = (more: object) => [
  line({
    type: "message_start",
    message: { ...MESSAGE, content: [], usage: { input_tokens: 9, output_tokens: 1 }, ...more },
    ...more,
  }),
  line({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" }, ...more }),
  line({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" }, ...more }),
  line({ type: "ping", ...more }),
  line({ type: "content_block_stop", index: 0, ...more }),
  line({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 }, ...more }),
  line({ type: "message_stop", ...more }),
];
const MESSAGE_EVENTS = messageEvents({});

/** Adds the forged bill to an event: as a member of it and of its response, and as a comment in and before it. */
function forge(text: string): string {
  const lines = text.trim().split("\n");
  const named = lines.slice(0, -1).map((name) => `${name}\n`);
  const data = lines.at(-1)?.slice("data: ".length) ?? "";
  const comment = `: x_0g_trace ${JSON.stringify(FORGED)}\n`;
  if (!data.startsWith("{")) return `${comment}\n${text}`;
  const fields = JSON.parse(data);
  const response = fields.response && { response: { ...TRACE, ...fields.response, ...TRACE } };
  return `${comment}\n${named.join("")}${comment}data: ${JSON.stringify({ ...TRACE, ...fields, ...response })}\n\n`;
}

const STREAMS = {
  "/chat/completions": {
    model: "openai",
    body: { messages: MESSAGES },
    pieces: [ROLE, word("a"), FINISH, USAGE_CHUNK, DONE],
  },
  "/completions": {
    model: "completions",
    body: { prompt: "hi" },
    pieces: ["a", ""].map(
      (text, n) =>
        `data: ${JSON.stringify({ id: "c", object: "text_completion", created: 1, model: "m", choices: [{ index: 0, text, finish_reason: n === 0 ? null : "stop" }], usage: n === 0 ? null : USAGE })}\n\n`,
    ),
  },
  "/messages": { model: "anthropic", body: { messages: MESSAGES }, pieces: messageEvents(TRACE) },
  "/responses": { model: "responses", body: { input: "hi", max_tokens: undefined }, pieces: nativeEvents() },
} as const;

test.each(Object.entries(STREAMS))(
  "a provider of %s cannot forge the bill of a stream",
  async (path, given) => {
    const { model, body, pieces } = given;
    const script: Script = (_, response) => void openStream(response).end(pieces.map(forge).join(""));
    router().scripted[0]?.scripts.set(model, script);
    for (const options of [{}, { stream_options: { include_usage: true } }]) {
      if (path !== "/chat/completions" && "stream_options" in options) continue;
      const { text } = await post(path, { model, ...body, ...options, stream: true });
      expect(text).not.toContain("forged");
      expect(text.match(/x_0g_trace/g)).toHaveLength(1);
    }
  },
);

const WHOLE = {
  "/chat/completions": { ...STREAMS["/chat/completions"], answer: completion() },
  "/completions": {
    ...STREAMS["/completions"],
    answer: completion({ choices: [{ index: 0, text: "a", finish_reason: "stop" }] }),
  },
  "/messages": {
    ...STREAMS["/messages"],
    answer: {
      ...MESSAGE,
      content: [{ type: "text", text: "a" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  "/responses": { ...STREAMS["/responses"], answer: nativeResponse() },
  "/images/generations": {
    model: "paint",
    body: { prompt: "hi", max_tokens: undefined },
    answer: { id: "img_1", created: 1, data: [{ b64_json: "aGk=" }] },
  },
  "/embeddings": {
    model: "embed",
    body: { input: "hi", max_tokens: undefined },
    answer: {
      id: "emb_1",
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [1] }],
      model: "m",
      usage: { prompt_tokens: 1, total_tokens: 1 },
    },
  },
} as const;

test.each(Object.entries(WHOLE))(
  "a provider of %s cannot forge the bill of a whole answer",
  async (path, given) => {
    const { model, body, answer } = given;
    const own = JSON.stringify(answer).slice(1, -1);
    const forged = `"x_0g_trace":${JSON.stringify(FORGED)}`;
    const escaped = forged.replace("trace", "tr\\u0061ce");
    for (const json of [
      `{${own},${forged}}`,
      `{${forged},${own}}`,
      `{${forged},${escaped},${own},${escaped},${forged}}`,
    ]) {
      router().scripted[0]?.scripts.set(
        model,
        (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end(json),
      );
      const { text } = await post(path, { model, ...body });
      expect(text).not.toContain("forged");
      expect(text.match(/x_0g_tr/g)).toHaveLength(1);
      const shown = JSON.parse(text);
      expect(shown).toMatchObject({
        id: (answer as { id: string }).id,
        x_0g_trace: { billing: expect.any(Object) },
      });
    }
  },
);

test.each([1, 2])(
  "of a provider that states no finish reason, [DONE] ends a stream that has all of %s choices",
  async (n) => {
    const words = Array.from({ length: n }, (_, index) => [word("a", index), word("b", index)]).flat();
    const { text, seeded } = await streamed("same", [ROLE, ...words, USAGE_CHUNK, DONE], { n });
    expect(text.endsWith(DONE)).toBe(true);
    expect(await endOf(seeded)).toMatchObject({ status: "completed", usageEstimated: false });
  },
);

test("a stream that ends with [DONE] before a requested choice has content has failed", async () => {
  const role = event({ index: 1, delta: { role: "assistant", content: "" } });
  const { text } = await streamed("same", [ROLE, role, word("a"), DONE], { n: 2 });
  expect(text).toContain("upstream_error");
  expect(text).not.toContain(DONE);
});

test("in the end the ledger is consistent and no hold is open", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
