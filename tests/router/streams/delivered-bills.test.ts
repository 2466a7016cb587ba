import { once } from "node:events";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { countTexts } from "../../../src/inference/billing/tokens.ts";
import {
  completion,
  DONE,
  event,
  FINISH,
  openStream,
  sendJson,
  trickle,
} from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const router = await useRouter({
  models: ["calls", "left", "long", "bytes"],
  count: 1,
  // A slow machine takes a while for tens of thousands of bytes that arrive one by one.
  settings: { RESUME_STREAMS: "off", PROVIDER_TOTAL_MS: "300000", PROVIDER_SILENCE_MS: "60000" },
});

const ARGUMENTS = `{"x":"${"ab ".repeat(100)}"}`;
const CALL = { id: "call_1", type: "function" };
const PIECES = [...ARGUMENTS.matchAll(/.{1,3}/g)].map(([piece]) => piece);
const CALL_EVENTS = [
  event({
    delta: { role: "assistant", tool_calls: [{ index: 0, ...CALL, function: { name: "f", arguments: "" } }] },
  }),
  ...PIECES.map((piece) => event({ delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } })),
];
const CALL_END = event({ delta: {}, finish_reason: "tool_calls" }) + DONE;

/** The billed tokens of the answer of an account's only request, once it has ended. */
async function billedOf(account: string): Promise<number> {
  const newest = async () => (await router().app.requests.list(account, { first: 1 })).rows[0];
  await until(async () => !["running", undefined].includes((await newest())?.status));
  return (await newest())?.outputTokens ?? -1;
}

test("a streamed call without usage costs what the same call costs as a whole answer", async () => {
  router().scripted[0]?.scripts.set("calls", (call, response) => {
    if (call.body.stream) openStream(response).end(CALL_EVENTS.join("") + CALL_END);
    else {
      const message = {
        role: "assistant",
        tool_calls: [{ ...CALL, function: { name: "f", arguments: ARGUMENTS } }],
      };
      const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
      sendJson(response, 200, completion({ choices, usage: undefined }));
    }
  });
  const billed: number[] = [];
  for (const stream of [false, true]) {
    const seeded = await router().seed();
    await (await router().chat(seeded, { model: "calls", stream, max_tokens: 10_000 })).text();
    billed.push(await billedOf(seeded.account));
  }
  const exact = countTexts(["call_1", "f", ARGUMENTS]);
  expect(billed).toEqual([exact, exact]);
});

test("a client that leaves during a call pays for the arguments that it received", async () => {
  router().scripted[0]?.scripts.set("left", async (_, response) => {
    await trickle(openStream(response), CALL_EVENTS);
    await once(response, "close");
  });
  const seeded = await router().seed();
  const reply = await router().chat(seeded, { model: "left", stream: true, max_tokens: 10_000 });
  let text = "";
  // Ending the iteration closes the connection.
  for await (const bytes of reply.body ?? []) {
    text += Buffer.from(bytes).toString();
    if (text.includes(CALL_EVENTS.at(-1) ?? "")) break;
  }
  expect(await billedOf(seeded.account)).toBe(countTexts(["call_1", "f", ARGUMENTS]));
});

test("a translated response that becomes too long is billed for the deltas that were delivered", async () => {
  // One token per four bytes, as a pool that is too busy to count estimates.
  const piece = " the".repeat(25_600);
  router().scripted[0]?.scripts.set(
    "long",
    (_, response) =>
      void openStream(response).end(event({ delta: { content: piece } }).repeat(12) + FINISH + DONE),
  );
  const seeded = await router().seed(10n ** 15n);
  const reply = await fetch(`${router().origin}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({ model: "long", input: "Say much.", stream: true, max_output_tokens: 1_000_000 }),
  });
  const text = await reply.text();
  const deltas = [...text.matchAll(/^data: (\{"type":"response\.output_text\.delta".*\})$/gm)];
  expect(deltas).toHaveLength(10);
  const [, failed = "{}"] = /^data: (\{"type":"response\.failed".*\})$/m.exec(text) ?? [];
  const delivered = JSON.parse(failed).response.output[0].content[0].text;
  expect(delivered.length).toBe(10 * piece.length);
  const billed = await billedOf(seeded.account);
  const exact = countTexts([piece.repeat(10)]);
  expect(billed).toBeGreaterThanOrEqual(exact);
  // The text is counted in parts, each of which may add a few tokens where it is cut.
  expect(billed).toBeLessThan(exact + 20);
});

test("a stream that arrives byte by byte is delivered whole", async () => {
  const events = event({ delta: { content: "word " } }).repeat(300) + FINISH + DONE;
  router().scripted[0]?.scripts.set("bytes", async (_, response) => {
    openStream(response);
    for (const byte of Buffer.from(events))
      if (!response.write(Buffer.of(byte))) await once(response, "drain");
    response.end();
  });
  const reply = await router().chat(await router().seed(), {
    model: "bytes",
    stream: true,
    max_tokens: 10_000,
  });
  const text = await reply.text();
  expect(text.match(/"content":"word "/g)).toHaveLength(300);
  expect(text.endsWith(DONE)).toBe(true);
});

test("in the end the ledger is consistent and no hold is open", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
