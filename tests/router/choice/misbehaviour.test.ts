// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { countPromptTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { jsonAnswer, PROVIDER_FAULTS } from "../../support/inference/provider-faults.ts";
import {
  breakOff,
  completion,
  DONE,
  event,
  events,
  FINISH,
  openStream,
  ROLE,
  type Script,
  sendJson,
  TEXT,
  trickle,
  USAGE,
  USAGE_CHUNK,
  WORDS,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

/**
 * The expected result when the first of two providers misbehaves: the answer of the second; the answer of the
 * first; a refusal with this code; or the delivered part and then an error that it broke off. Usage that it
 * reports for one side counts, whatever it reports for the other.
 */
type Expected =
  | "the second"
  | "the first"
  | "the first, counted"
  | "the first, its answer counted"
  | "cut"
  | `refusal ${string}`;

type Misbehaviour = {
  readonly name: string;
  readonly script: Script;
  readonly plain?: Expected;
  readonly streamed?: Expected;
  /** The most calls that the first provider may have received. */
  readonly calls?: number;
};

const both = (expected: Expected) => ({ plain: expected, streamed: expected });
const status =
  (code: number, body: unknown = { error: { message: "no" } }, headers = {}): Script =>
  (_, response) =>
    sendJson(response, code, body, headers);
const answer =
  (fields: object): Script =>
  (_, response) =>
    sendJson(response, 200, completion(fields));
const stream =
  (pieces: readonly (string | Buffer)[], isCut = false): Script =>
  async (_, response) => {
    openStream(response);
    await trickle(response, pieces);
    if (isCut) await breakOff(response);
    else response.end();
  };
/** Answers plain or streamed with this usage. */
const usage =
  (stated: unknown): Script =>
  (call, response) => {
    if (!call.body.stream) return sendJson(response, 200, completion({ usage: stated }));
    openStream(response).end([...events().slice(0, -2), event(undefined, { usage: stated }), DONE].join(""));
  };
const words = WORDS.map((content) => event({ delta: { content } }));
const choice = (fields: object) => ({ index: 0, message: { role: "assistant", content: TEXT }, ...fields });

const MISBEHAVIOURS: readonly Misbehaviour[] = [
  ...PROVIDER_FAULTS.map(({ script, ...fault }) => ({
    ...fault,
    script: script(jsonAnswer(completion())),
    ...both("the second"),
  })),
  { name: "answers without choices", script: answer({ choices: [] }), plain: "the second" },
  { name: "answers invalid choices", script: answer({ choices: "four" }), plain: "the second" },
  {
    name: "begins with a byte order mark",
    script: ({ body }, response) => {
      if (!body.stream)
        return void response
          .writeHead(200, { "content-type": "application/json" })
          .end(`\ufeff${JSON.stringify(completion({}))}`);
      return trickle(openStream(response), ["\ufeff", ...events()]);
    },
    ...both("the first"),
  },
  {
    name: "answers a choice without a message",
    script: answer({ choices: [{ index: 0 }] }),
    plain: "the second",
  },
  {
    name: "answers an empty message without a reason",
    script: answer({ choices: [choice({ message: { role: "assistant", content: "" } })] }),
    plain: "the second",
  },
  {
    name: "answers more than 16 MiB",
    script: answer({ padding: "x".repeat(17 * 1_048_576) }),
    plain: "the second",
  },
  {
    name: "streams where a whole answer was requested",
    script: (_, response) => void openStream(response).end(events().join("")),
    plain: "the second",
  },
  {
    name: "answers whole where a stream was requested",
    script: status(200, completion()),
    streamed: "the second",
  },
  {
    name: "filters an answer",
    script: (call, response) => {
      if (!call.body.stream)
        return sendJson(
          response,
          200,
          completion({
            choices: [
              choice({ message: { role: "assistant", content: "" }, finish_reason: "content_filter" }),
            ],
          }),
        );
      openStream(response).end(
        [ROLE, event({ delta: {}, finish_reason: "content_filter" }), USAGE_CHUNK, DONE].join(""),
      );
    },
    ...both("the first"),
    calls: 1,
  },
  {
    name: "blames the length of the context",
    script: status(400, { error: { message: "too long", code: "context_length_exceeded" } }),
    ...both("refusal context_length_exceeded"),
    calls: 1,
  },
  {
    name: "blames the content",
    script: status(400, { error: { message: "bad words", code: "content_policy_violation" } }),
    ...both("refusal content_policy_violation"),
    calls: 1,
  },
  {
    name: "blames the content with 200",
    script: status(200, { error: { message: "bad words", code: "content_filter" } }),
    ...both("refusal content_policy_violation"),
    calls: 1,
  },
  {
    name: "blames a field",
    script: status(422, { error: "temperature must be below 2" }),
    ...both("refusal invalid_body"),
    calls: 1,
  },
  {
    name: "blames the request with a page",
    script: (_, response) =>
      void response.writeHead(400, { "content-type": "text/html" }).end("<h1>Bad</h1>"),
    ...both("refusal invalid_body"),
    calls: 1,
  },
  {
    name: "begins with an error event",
    script: stream([`data: {"error":{"message":"overloaded"}}\n\n`]),
    streamed: "the second",
  },
  {
    name: "sends its role and then an error",
    script: stream([ROLE, `data: {"error":{"message":"overloaded"}}\n\n`]),
    streamed: "the second",
  },
  { name: "sends its role and breaks the connection", script: stream([ROLE], true), streamed: "the second" },
  { name: "sends its role and [DONE]", script: stream([ROLE, DONE]), streamed: "the second" },
  { name: "sends only [DONE]", script: stream([DONE]), streamed: "the second" },
  {
    name: "sends endless comments",
    script: async (_, response) => {
      openStream(response);
      while (!response.destroyed) await trickle(response, [": ping\n\n"], 100);
    },
    streamed: "the second",
    calls: 1,
  },
  {
    name: "sends its role and is silent",
    script: async (_, response) => {
      openStream(response).write(ROLE);
    },
    streamed: "the second",
    calls: 1,
  },
  {
    name: "begins with broken JSON",
    script: stream(['data: {"choices":[{"del\n\n', ...words, FINISH, DONE]),
    streamed: "the second",
  },
  {
    name: "sends an endless event",
    script: stream([`data: ${"x".repeat(1_100_000)}`]),
    streamed: "the second",
  },
  {
    name: "breaks the connection in mid-stream",
    script: stream([ROLE, ...words.slice(0, 4)], true),
    streamed: "cut",
  },
  { name: "ends in mid-stream", script: stream([ROLE, ...words.slice(0, 4)]), streamed: "cut" },
  {
    name: "is silent in mid-stream",
    script: async (_, response) => {
      openStream(response);
      await trickle(response, [ROLE, ...words.slice(0, 4)]);
    },
    streamed: "cut",
  },
  {
    name: "breaks its JSON in mid-stream",
    script: stream([
      ROLE,
      ...words.slice(0, 4),
      'data: {"choices":[{"de\n\n',
      ...words.slice(5),
      FINISH,
      DONE,
    ]),
    streamed: "cut",
  },
  {
    name: "reports an error in mid-stream",
    script: stream([ROLE, ...words.slice(0, 4), `data: {"error":{"message":"out of memory"}}\n\n`]),
    streamed: "cut",
  },
  {
    name: "switches to another protocol in mid-stream",
    script: stream([ROLE, ...words.slice(0, 4), "data: [1]\n\n"]),
    streamed: "cut",
  },
  { name: "forgets [DONE]", script: stream([ROLE, ...words, FINISH, USAGE_CHUNK]), streamed: "the first" },
  {
    name: "omits [DONE] and keeps the connection open",
    script: async (_, response) => {
      openStream(response);
      await trickle(response, [ROLE, ...words, FINISH, USAGE_CHUNK]);
    },
    streamed: "the first",
  },
  {
    name: "omits the finish reason",
    script: stream([ROLE, ...words, USAGE_CHUNK, DONE]),
    streamed: "the first",
  },
  { name: "continues after [DONE]", script: stream([...events(), ...words, DONE]), streamed: "the first" },
  {
    name: "omits the last blank line",
    script: stream([...events().slice(0, -1), "data: [DONE]"]),
    streamed: "the first",
  },
  {
    name: "splits its writes within characters and events",
    script: async (_, response) => {
      openStream(response);
      const bytes = Buffer.from(events().join(""));
      for (let at = 0; at < bytes.length; at += 7) await trickle(response, [bytes.subarray(at, at + 7)]);
      response.end();
    },
    streamed: "the first",
  },
  {
    name: "ends its lines with CR LF",
    script: stream(events().map((text) => text.replaceAll("\n", "\r\n"))),
    streamed: "the first",
  },
  { name: "reports no usage", script: usage(undefined), ...both("the first, counted") },
  { name: "reports null usage", script: usage(null), ...both("the first, counted") },
  {
    name: "reports negative usage",
    script: usage({ prompt_tokens: -5, completion_tokens: 8 }),
    ...both("the first, counted"),
  },
  {
    name: "reports usage in fractions of tokens",
    script: usage({ prompt_tokens: 1.5, completion_tokens: 8 }),
    ...both("the first, counted"),
  },
  {
    name: "reports usage as text",
    script: usage({ prompt_tokens: "nine", completion_tokens: "8" }),
    ...both("the first, counted"),
  },
  {
    name: "reports usage beyond 2^53",
    script: usage({ prompt_tokens: 9e15 * 2, completion_tokens: 8 }),
    ...both("the first, counted"),
  },
  {
    name: "reports an inconsistent total",
    script: usage({ prompt_tokens: 9, completion_tokens: 8, total_tokens: 1_000 }),
    ...both("the first, counted"),
  },
  {
    name: "reports more tokens than requested",
    script: usage({ prompt_tokens: 9, completion_tokens: 51 }),
    ...both("the first, its answer counted"),
  },
  {
    name: "reports 9e15 tokens for the answer",
    script: usage({ prompt_tokens: 9, completion_tokens: 9e15, total_tokens: 9e15 + 9 }),
    ...both("the first, its answer counted"),
  },
  {
    name: "reports a longer prompt than any model accepts",
    script: usage({ prompt_tokens: 9e15, completion_tokens: 8 }),
    ...both("the first, counted"),
  },
  {
    name: "claims a cost of zero",
    script: usage({ ...USAGE, cost: 0, total_cost: 0 }),
    ...both("the first"),
  },
  {
    name: "sets cookies and imitates our headers",
    script: (call, response) => {
      const headers = {
        "set-cookie": "a=b",
        "access-control-allow-origin": "*",
        server: "evil",
        "x-request-id": "theirs",
        "zg-res-key": "ключ\u0001".replace(/[^\x20-\x7e]/g, "?"),
      };
      if (!call.body.stream) return sendJson(response, 200, completion(), headers);
      openStream(response, headers).end(events().join(""));
    },
    ...both("the first"),
  },
];

const CASES = MISBEHAVIOURS.flatMap((misbehaviour, n) =>
  (["plain", "streamed"] as const).flatMap((mode) => {
    const expected = misbehaviour[mode];
    return expected ? [{ ...misbehaviour, mode, expected, model: `m${n}-${mode}` }] : [];
  }),
);
const [FIRST, SECOND] = PRICES;
const PROMPT = countPromptTokens([{ role: "user", content: "What is the sea?" }]);
// The expected text of a stream that is not resumed; tests/router/streams/resume.test.ts has those that are.
const router = await useRouter({
  models: CASES.map(({ model }) => model),
  settings: { RESUME_STREAMS: "off" },
});

test("there are at least forty misbehaviours", () => {
  expect(MISBEHAVIOURS.length).toBeGreaterThanOrEqual(40);
});

test.each(CASES)(
  "a provider that $name, $mode: $expected",
  async ({ script, model, mode, expected, calls = 3 }) => {
    const { app, scripted, seed, chat } = router();
    const [first, second] = scripted;
    if (!first || !second) throw new Error("two providers are needed");
    first.scripts.set(model, script);
    const seeded = await seed();
    const reply = await chat(
      seeded,
      { model, max_tokens: 50, stream: mode === "streamed" },
      { cookie: "session=1", "x-platform-internal": "1" },
    );
    // `text()` would hide a byte order mark.
    const text = Buffer.from(await reply.arrayBuffer()).toString();
    const request = await until(async () => {
      const { rows } = await app.requests.list(seeded.account, { first: 10 });
      expect(rows).toHaveLength(1);
      return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
    });
    const charged = request.cost?.total ?? 0n;

    expect(first.callsOf(model).length).toBeLessThanOrEqual(calls);
    for (const { headers } of [...first.callsOf(model), ...second.callsOf(model)])
      for (const name of ["cookie", "authorization", "x-platform-internal", "x-request-id"])
        expect(headers[name]).toBeUndefined();
    for (const name of ["set-cookie", "access-control-allow-origin", "server"])
      expect(reply.headers.get(name)).toBeNull();
    expect(reply.headers.get("x-request-id")).toBe(request.id);

    const attempts = request.routing?.attempts ?? [];
    const costAt = (price: (typeof PRICES)[number]) =>
      BigInt(USAGE.prompt_tokens) * price.prompt + BigInt(USAGE.completion_tokens) * price.completion;
    if (expected === "the second") {
      expect([reply.status, request.status]).toEqual([200, "completed"]);
      expect(readText(text, mode)).toBe(TEXT);
      expect(charged).toBe(costAt(SECOND));
      expect(attempts.map(({ outcome }) => outcome)).toEqual(["failed", "answered"]);
      expect(request.provider).toBe(attempts[1]?.provider);
      expect([first.callsOf(model).length, second.callsOf(model).length]).toEqual([1, 1]);
    } else if (expected.startsWith("the first")) {
      expect([reply.status, request.status]).toEqual([200, "completed"]);
      expect(second.callsOf(model)).toHaveLength(0);
      const inputTokens = expected === "the first, counted" ? PROMPT : USAGE.prompt_tokens;
      const outputTokens = expected === "the first" ? USAGE.completion_tokens : countTokens(TEXT);
      expect(charged).toBe(BigInt(inputTokens) * FIRST.prompt + BigInt(outputTokens) * FIRST.completion);
      expect(request).toMatchObject({ inputTokens, outputTokens, usageEstimated: expected !== "the first" });
      if (mode === "plain")
        expect(JSON.parse(text).usage).toMatchObject({
          prompt_tokens: inputTokens,
          completion_tokens: outputTokens,
          total_tokens: inputTokens + outputTokens,
        });
      if (mode === "streamed") expect(text.match(/data: \[DONE\]\n\n/g)).toHaveLength(1);
    } else if (expected === "cut") {
      expect([reply.status, request.status]).toEqual([200, "failed"]);
      expect(text).toMatch(/data: \{"error":\{.*"code":"upstream_error".*\}\n\n$/);
      expect(text).not.toContain("[DONE]");
      const delivered = WORDS.slice(0, 4).join("");
      expect(readText(text, mode)).toBe(delivered);
      expect(charged).toBe(BigInt(PROMPT) * FIRST.prompt + BigInt(countTokens(delivered)) * FIRST.completion);
      expect(second.callsOf(model)).toHaveLength(0);
      expect(attempts.map(({ outcome }) => outcome)).toEqual(["failed"]);
    } else {
      const { error } = JSON.parse(text);
      expect([reply.status, error.code]).toEqual([400, expected.slice("refusal ".length)]);
      expect(reply.headers.get("x-should-retry")).toBe("false");
      expect(second.callsOf(model)).toHaveLength(0);
      expect(charged).toBe(0n);
    }
    const balance = await balanceAtRest(app, seeded.account);
    expect(balance).toMatchObject({ held: 0n, total: 10_000_000n - charged });
  },
);

test("in the end the ledger is consistent and no hold is open", async () => {
  await sleep(0);
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});

function readText(text: string, mode: "plain" | "streamed"): string {
  if (mode === "plain") return JSON.parse(text).choices[0].message.content;
  return [...text.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, data]) => JSON.parse(data ?? "").choices?.[0]?.delta.content ?? "")
    .join("");
}
