// @module-tag large
import fc from "fast-check";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { nativeEvents } from "../../support/inference/native-responses.ts";
import { openStream, trickle } from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

type Fields = Readonly<Record<string, unknown>>;

const MODEL = "m";
const START = 10_000_000n;
const router = await useRouter({
  models: [],
  count: 1,
  more: () => [
    {
      ...{ id: MODEL, upstream_id: "theirs", supported_formats: ["responses"] },
      pricing: { prompt: "2", completion: "3" },
    },
  ],
});

const EVENTS = nativeEvents().map((text) => JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? "") as Fields);
const TYPES = [...new Set(EVENTS.map(({ type }) => type)), "response.failed", "error", "response.incomplete"];
const USAGE = { input_tokens: 9, output_tokens: 8 };

const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-1, 2 ** 53, 1e300), fc.jsonValue());
const usage = fc.oneof(
  fc.record({ input_tokens: number, output_tokens: number, total_tokens: number }, { requiredKeys: [] }),
  fc
    .record({ input_tokens_details: fc.jsonValue(), output_tokens_details: fc.jsonValue() })
    .map((details) => ({
      ...USAGE,
      ...details,
    })),
  fc.jsonValue(),
);
const response = fc.oneof(
  usage.map((stated) => ({ ...(EVENTS.at(-1)?.response as Fields), usage: stated })),
  fc.record({ id: fc.jsonValue(), output: fc.jsonValue(), model: fc.jsonValue(), error: fc.jsonValue() }),
  fc.jsonValue(),
);
const changed = fc
  .record(
    {
      type: fc.oneof(fc.constantFrom(...TYPES), fc.jsonValue()),
      sequence_number: number,
      delta: fc.oneof(fc.string(), fc.jsonValue()),
      text: fc.string(),
      output_index: fc.jsonValue(),
      response,
      error: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  .chain((fields) => fc.constantFrom(...EVENTS).map((event) => JSON.stringify({ ...event, ...fields })));
const repeated = fc
  .constantFrom("response", "usage", "model")
  .map((name) => JSON.stringify(EVENTS.at(-1)).replace("{", `{"${name}":{"usage":{}},`));
const long = fc
  .constantFrom(200_000, 1_048_000, 1_100_000)
  .map((length) => JSON.stringify({ ...EVENTS[4], delta: "word ".repeat(length / 5) }));
const other = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.constantFrom("[DONE]", "", "{", '{"type":', '{"type":"response.completed"}', "\u2028"),
);
const own = fc.constantFrom(...EVENTS).map((event) => JSON.stringify(event));
const anEvent = fc.oneof(
  { weight: 6, arbitrary: own },
  { weight: 6, arbitrary: changed },
  { weight: 2, arbitrary: other },
  { weight: 1, arbitrary: repeated },
  { weight: 1, arbitrary: long },
);
/** A normal stream in which any events are added or take the place of others. */
const stream = fc
  .tuple(fc.array(fc.tuple(fc.nat(EVENTS.length), anEvent), { maxLength: 6 }), fc.nat(2), fc.boolean())
  .map(([changes, removed, isNamed]) => {
    const data = EVENTS.map((event) => JSON.stringify(event));
    for (const [at, event] of changes) data.splice(at, removed, event);
    return data.map((text) => `${isNamed ? "event: x\n" : ""}data: ${text.replaceAll("\n", "\ndata: ")}\n\n`);
  });

test("whatever events a provider sends, a stream ends once, and is charged what it shows", async () => {
  const { app, origin, scripted, seed } = router();
  await fc.assert(
    fc.asyncProperty(stream, async (events) => {
      scripted[0]?.scripts.set("theirs", async (_, reply) => {
        openStream(reply);
        await trickle(reply, events);
        reply.end();
      });
      const seeded = await seed(START);
      const answer = await fetch(`${origin}/v1/responses`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
        body: JSON.stringify({ model: MODEL, input: "a", stream: true, max_output_tokens: 5_000 }),
      });
      const text = await answer.text();
      const request = await until(async () => {
        const [row] = (await app.requests.list(seeded.account, { first: 1 })).rows;
        return row !== undefined && row.status !== "running" && row;
      });
      const total = request.cost?.total ?? 0n;
      expect(await balanceAtRest(app, seeded.account)).toMatchObject({ held: 0n, total: START - total });
      if (answer.status !== 200) {
        expect([answer.status, total], text).toEqual([answer.status === 400 ? 400 : 502, 0n]);
        expect(text).not.toContain("internal_error");
        return;
      }
      const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, line = ""]) => line);
      const isWhole = data.at(-1) === "[DONE]";
      expect([request.status, text.split("[DONE]\n\n").length - 1]).toEqual(
        isWhole ? ["completed", 1] : ["failed", 0],
      );
      const last = JSON.parse(data.at(isWhole ? -2 : -1) ?? "");
      if (!isWhole) {
        expect(last).toMatchObject({ type: "response.failed", response: { status: "failed", model: MODEL } });
        return;
      }
      expect(last.response).toMatchObject({
        usage: { input_tokens: request.inputTokens, output_tokens: request.outputTokens },
        x_0g_trace: { billing: { total_cost: String(total) } },
      });
    }),
    { numRuns: 60 },
  );
  const { faults, openHolds } = await new LedgerService(app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
}, 120_000);
