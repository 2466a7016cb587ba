import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { newId } from "../../../src/kernel/text/ids.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { RESPONSE_HEAD } from "../../support/inference/native-responses.ts";
import { event, openStream, ROLE } from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

/**
 * A slow machine takes seconds to fill the buffers of a client that does not read, and to begin. No other provider is
 * tried meanwhile: it would answer with another stream.
 */
const router = await useRouter({
  models: ["unread"],
  count: 1,
  more: () =>
    ["completions", "anthropic", "responses"].map((format) => ({
      ...{ id: `unread-${format}`, supported_formats: [format] },
      pricing: { prompt: "2", completion: "3" },
    })),
  settings: { CLIENT_STALL_MS: "1500", PROVIDER_SILENCE_MS: "60000", PROVIDER_TOTAL_MS: "600000" },
});

function endOf(seeded: Seeded) {
  return until(async () => {
    const { rows } = await router().app.requests.list(seeded.account, { first: 20 });
    const [request] = rows;
    return request !== undefined && request.status !== "running" && request;
  });
}

test("a client that reads nothing applies back-pressure, is disconnected after a timeout, and pays for what was sent", async () => {
  const { scripted, seed, origin, app } = router();
  const seeded = await seed(10n ** 15n);
  const piece = event({ delta: { content: "word ".repeat(2_000) } });
  let sentBytes = 0;
  let isGone = false;
  scripted[0]?.scripts.set("unread", async (_, response) => {
    openStream(response).write(ROLE);
    const gone = once(response, "close").then(() => {
      isGone = true;
    });
    while (!isGone && sentBytes < 200_000_000) {
      sentBytes += piece.length;
      if (!response.write(piece))
        await Promise.race([gone, new Promise((done) => response.once("drain", done))]);
    }
  });
  const outgoing = httpRequest(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
  });
  outgoing.end(
    JSON.stringify({
      model: "unread",
      stream: true,
      max_tokens: 1_000_000,
      messages: [{ role: "user", content: "hi" }],
    }),
  );
  const [incoming] = await once(outgoing, "response");
  incoming.pause();
  const failed = once(incoming, "error");
  outgoing.on("error", () => {});
  await until(() => isGone);
  const request = await endOf(seeded);
  expect(request).toMatchObject({ status: "aborted", usageEstimated: true });
  expect(request.cost?.total).toBeGreaterThan(0n);
  // All that the router and the sockets can have kept of it.
  expect(sentBytes).toBeLessThan(32_000_000);
  const balance = await balanceAtRest(app, seeded.account);
  expect(balance).toMatchObject({ held: 0n });
  // Whoever reads on sees a failure, and not the end of a shorter answer.
  incoming.resume();
  await failed;
  expect(incoming.complete).toBe(false);
});

const WORDS = "word ".repeat(2_000);
const prompt = { prompt: "hi" };
const messages = { messages: [{ role: "user", content: "hi" }] };
const messageEvent = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const text = (text: string) => `data: ${JSON.stringify({ choices: [{ index: 0, text }] })}\n\n`;

/** Endless streams by format: the model, its request, the first events, and the one that is repeated. */
const ENDLESS: readonly (readonly [string, string, object, string, string])[] = [
  ["/v1/chat/completions", "unread", messages, ROLE, event({ delta: { content: WORDS } })],
  ["/v1/completions", "unread-completions", prompt, text("a"), text(WORDS)],
  [
    ...["/v1/messages", "unread-anthropic", messages, messageEvent("message_start", { message: {} })],
    messageEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text: WORDS } }),
  ] as const,
  [
    ...["/v1/responses", "unread-responses", { input: "hi" }, RESPONSE_HEAD.join("")],
    messageEvent("response.output_text.delta", { output_index: 0, content_index: 0, delta: WORDS }),
  ] as const,
];

test.each(
  ENDLESS.flatMap((endless) => ["1.0", "1.1"].map((version) => [endless[0], version, endless] as const)),
)(
  "an unread stream of %s over HTTP/%s is reset, and not repeated as a whole answer",
  async (path, version, [, model, fields, head, piece]) => {
    const { scripted, seed, origin } = router();
    const seeded = await seed(10n ** 15n);
    scripted[0]?.scripts.set(model, async (_, response) => {
      openStream(response).write(head);
      const gone = once(response, "close").then(() => true);
      while (!response.destroyed)
        if (!response.write(piece))
          if (await Promise.race([gone, once(response, "drain").then(() => false)])) return;
    });
    const limit = path === "/v1/responses" ? { max_output_tokens: 1_000_000 } : { max_tokens: 1_000_000 };
    const body = JSON.stringify({ model, stream: true, ...limit, ...fields });
    const key = newId();
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    const failed = once(socket, "error");
    socket.pause();
    socket.write(
      `POST ${path} HTTP/${version}\r\nhost: a\r\nauthorization: Bearer ${seeded.secret}\r\nidempotency-key: ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const request = await endOf(seeded);
    expect(request.status).toBe("aborted");
    expect(request.cost?.total).toBeGreaterThan(0n);
    socket.resume();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
    const again = await fetch(`${origin}${path}`, {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${seeded.secret}`, "idempotency-key": key },
        "content-type": "application/json",
      },
      body,
    });
    expect(again.headers.get("idempotent-replayed")).toBeNull();
    await again.body?.cancel();
  },
);
