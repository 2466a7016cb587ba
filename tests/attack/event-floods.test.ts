// @module-tag large
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { repeatedTurnMs, slowness, threadMs } from "../support/attack/event-loop.ts";
import { DONE, event, FINISH, openStream, ROLE } from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";

/** 50 ms on an otherwise idle machine; the client and the provider take their part of these turns as well. */
const MAX_TURN_MS = 150;
/** Processor time for a flood, whatever its size, with that of the client and the provider. */
const MAX_FLOOD_MS = 2_000;
const MAX_ANSWER_BYTES = 8 * 1_048_576;

const router = await useRouter({
  models: ["same"],
  count: 1,
  more: () => [{ id: "named", upstream_id: "theirs", pricing: { prompt: "2", completion: "3" } }],
  settings: { RESUME_STREAMS: "off" },
});

const WORD = event({ delta: { content: "a" } });
const EMPTY = event({ delta: { content: "" } });

async function flood(model: string, events: string) {
  const bytes = Buffer.from(ROLE + WORD + events + FINISH + DONE);
  const upstream = model === "named" ? "theirs" : model;
  router().scripted[0]?.scripts.set(upstream, (_, response) => void openStream(response).end(bytes));
  const seeded = await router().seed(10n ** 15n);
  let text = "";
  let turnMs = 0;
  const startedMs = threadMs();
  turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    const reply = await router().chat(seeded, { model, stream: true, max_tokens: 1_000_000 });
    text = await reply.text();
  });
  return { text, turnMs, ms: (threadMs() - startedMs) / slowness() };
}

const FLOODS = {
  "blank lines": "\n".repeat(10_000_000),
  "blank lines that end with CR LF": "\r\n".repeat(5_000_000),
  "blank lines that end with CR": "\r".repeat(10_000_000),
  comments: ": x\n\n".repeat(2_000_000),
  "events without data": "data:\n\n".repeat(1_000_000),
  "events with a name alone": "event: ping\n\n".repeat(800_000),
  "empty objects": "data: {}\n\n".repeat(1_000_000),
  "empty lists of choices": 'data: {"choices":[]}\n\n'.repeat(400_000),
  "empty deltas": EMPTY.repeat(50_000),
} as const;

test.each(
  Object.entries(FLOODS).flatMap(([what, events]) =>
    ["same", "named"].map((model) => ({ what, events, model })),
  ),
)(
  "a stream that floods with $what, of the model $model, is ended and takes little time",
  async ({ events, model }) => {
    const { text, turnMs, ms } = await flood(model, events);
    expect(text).toMatch(/data: \{"error":\{.*"code":"upstream_error"/);
    expect(text).not.toContain(DONE);
    expect(text.length).toBeLessThan(MAX_ANSWER_BYTES);
    expect(turnMs).toBeLessThan(MAX_TURN_MS);
    expect(ms).toBeLessThan(MAX_FLOOD_MS);
  },
);

test.each(["same", "named"])(
  "a stream of many small events of the model %s is delivered in short turns",
  async (model) => {
    const { text, turnMs } = await flood(model, WORD.repeat(30_000));
    expect(text.match(/"content":"a"/g)).toHaveLength(30_001);
    expect(text.endsWith(DONE)).toBe(true);
    expect(turnMs).toBeLessThan(MAX_TURN_MS);
  },
);

test("in the end the ledger is consistent and no hold is open", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
