import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { expect, test } from "vitest";
import { breakOff, event, good, openStream, ROLE } from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const router = await useRouter({
  models: ["slow", "cut"],
  count: 1,
  settings: { PROVIDER_TOTAL_MS: "6000", CLIENT_STALL_MS: "60000" },
});

test("a client that reads too slowly for the deadline of its answer does not count against the provider", async () => {
  const { scripted, seed, origin, app } = router();
  const seeded = await seed(10n ** 15n);
  const piece = event({ delta: { content: "word ".repeat(2_000) } });
  const cutOff = Promise.withResolvers<void>();
  scripted[0]?.scripts.set("slow", async (_, response) => {
    openStream(response).write(ROLE);
    const gone = once(response, "close").then(() => true);
    void gone.then(() => cutOff.resolve());
    while (!response.destroyed)
      if (!response.write(piece.repeat(20)))
        if (await Promise.race([gone, once(response, "drain").then(() => false)])) return;
  });
  const outgoing = httpRequest(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
  });
  outgoing.on("error", () => {});
  outgoing.end(
    JSON.stringify({
      ...{ model: "slow", stream: true, max_tokens: 10_000_000 },
      messages: [{ role: "user", content: "hi" }],
    }),
  );
  const [incoming] = await once(outgoing, "response");
  incoming.pause();
  // What has arrived until the deadline is still written as the client reads, and then the answer ends.
  await cutOff.promise;
  incoming.resume();
  const ended = await until(async () => {
    const [request] = (await app.requests.list(seeded.account, { first: 1 })).rows;
    return request !== undefined && request.status !== "running" && request;
  });
  outgoing.destroy();
  expect(ended).toMatchObject({ status: "failed", errorCode: "provider_error" });
  const offers = app.catalogue.model("slow")?.providers ?? [];
  expect([offers.length, app.health.report(offers)]).toEqual([1, []]);
});

test("a connection that breaks within the first event is tried again, also with the only provider", async () => {
  const { scripted, seed, origin } = router();
  const { secret } = await seed(10n ** 15n);
  scripted[0]?.scripts.set("cut", async (call, response, n) => {
    if (n > 0) return good(call, response, n);
    openStream(response).write(ROLE.slice(0, -10));
    await breakOff(response);
  });
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: "cut", stream: true, messages: [{ role: "user", content: "hi" }] }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("[DONE]")]);
});
