// @module-tag large
import { describe, expect, test } from "vitest";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { balanceAtRest } from "../support/balance.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { scatteredBytes, scatteredHan } from "../support/inference/scattered-text.ts";
import { completion, DONE, event, FINISH, openStream } from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";

/** 50 ms on an otherwise idle machine; the client and the provider take their part of these turns as well. */
const MAX_TURN_MS = 150;
const MIB = 1_048_576;
const RICH = 10n ** 15n;

const router = await useRouter({
  models: ["talk"],
  count: 1,
  more: () => [{ id: "paint", pricing: { image: "2" }, service_type: "text-to-image" }],
});

const HAN = scatteredHan(400_000);
const LETTERS = scatteredBytes(750_000).toString("base64");
const usage = { prompt_tokens: 9, completion_tokens: 8 };
const said = (content: string, fields: object) =>
  Buffer.from(
    JSON.stringify(
      completion({ choices: [{ index: 0, message: { content }, finish_reason: "stop" }], ...fields }),
    ),
  );
const listed = (item: string, sizeBytes: number) =>
  Buffer.from(
    `${JSON.stringify(completion({ usage })).slice(0, -1)},"x":[${`${item},`.repeat(sizeBytes / item.length / 1.6)}0]}`,
  );
/** Answers into which the charged usage has to be inserted. */
const MEMBERS = Array.from({ length: 900_000 }, (_, n) => `"m${n}":1`).join();
const manyMembers = Buffer.from(`${said("a", { usage: undefined }).toString().slice(0, -1)},${MEMBERS}}`);

const CHATS = [
  ["of 15 MiB in lists", listed("[]", 14 * MIB), 200],
  ["of 15 MiB in one text", said("a".repeat(15 * MIB), { usage }), 200],
  ["of 1.2 MB without usage", said(HAN, { usage: undefined }), 200],
  ["of 1 MB of base64 without usage", said(LETTERS, { usage: undefined }), 200],
  ["of 10 MiB in members without usage", manyMembers, 200],
  ["of 15 MiB that are not JSON", Buffer.alloc(15 * MIB, "["), 502],
] as const;

describe("an answer never blocks the event loop", () => {
  test.each(CHATS)("%s", async (_what, answer, status) => {
    await requireShortTurn({ model: "talk", max_tokens: 2_000_000 }, answer, status);
  });

  test("of ten images of 4 MB", async () => {
    const data = Array.from({ length: 10 }, () => ({ b64_json: "QUJD".repeat(MIB) }));
    const answer = Buffer.from(JSON.stringify({ created: 1, data }));
    await requireShortTurn({ model: "paint", prompt: "a", n: 10 }, answer, 200, "/v1/images/generations");
  });

  test.each([
    ["of small events without usage", event({ delta: { content: HAN.slice(0, 2_000) } }).repeat(500)],
    ["of events of 1 MB", event({ delta: { content: "a".repeat(MIB - 1_000) } }).repeat(15)],
    ["of lines without an event", ": a\n".repeat(200_000)],
  ])("that is a stream %s", async (_what, events) => {
    const bytes = Buffer.from(`${events}\n\n${FINISH}${DONE}`);
    await requireShortTurn({ model: "talk", max_tokens: 2_000_000, stream: true }, bytes, 200);
  });
});

async function requireShortTurn(
  body: { readonly model: string; readonly stream?: boolean } & Readonly<Record<string, unknown>>,
  answer: Buffer,
  status: number,
  url = "/v1/chat/completions",
): Promise<void> {
  const { app, origin, scripted } = router();
  const seeded = await router().seed(RICH);
  scripted[0]?.scripts.set(body.model, (_call, response) => {
    if (body.stream) openStream(response).end(answer);
    else response.writeHead(200, { "content-type": "application/json" }).end(answer);
  });
  const messages = [{ role: "user", content: "a" }];
  const askOnce = async () => {
    const reply = await fetch(origin + url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
      body: JSON.stringify({ messages, ...body }),
    });
    for await (const _ of reply.body ?? []);
    expect(reply.status).toBe(status);
  };
  expect(await repeatedTurnMs(MAX_TURN_MS, askOnce)).toBeLessThan(MAX_TURN_MS);
  const balance = await balanceAtRest(app, seeded.account);
  await requireAvailable(app, seeded, { available: balance?.available ?? -1n });
}
