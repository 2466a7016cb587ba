// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { createClientWith, serverSentEvents } from "../../packages/client/src/index.ts";
import { KEYS, type KeysData, openKeyEvents } from "../support/client/key-events.ts";
import { untilPublished } from "../support/events.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();

/** `fetch` whose requests with a text in their body wait until they are let go. */
function gated() {
  const waiting: { readonly body: string; go(): void }[] = [];
  let held = "";
  const gatedFetch: typeof fetch = async (input, init) => {
    const body = String(init?.body);
    if (held !== "" && body.includes(held)) await new Promise<void>((go) => waiting.push({ body, go }));
    return fetch(input, init);
  };
  return {
    fetch: gatedFetch,
    waiting,
    hold(text: string) {
      held = text;
    },
  };
}

test("a position that arrives after a reconnection is not resumed from, so that no event is skipped", async () => {
  const { app, origin } = stack();
  const events = await openKeyEvents(stack());
  const gate = gated();
  const client = createClientWith(serverSentEvents(), {
    url: origin,
    credential: events.secret,
    fetch: gate.fetch,
  });
  onTestFinished(() => client.dispose());
  gate.hold("eventCursor");
  const subscription = client.subscribe<KeysData, object>(KEYS, {});
  const received: string[] = [];
  void (async () => {
    for await (const { data } of subscription) received.push(data.keyChanged.keyId);
  })();
  await until(() => gate.waiting.length === 1);
  // The second connection reads its own position, and is replaced before it brings an event.
  gate.hold("subscription Keys");
  client.reconnect();
  await until(() => gate.waiting.length === 2);
  const { cursor } = subscription;
  expect(cursor).not.toBeNull();
  await events.emit();
  await untilPublished(app.database);
  gate.hold("");
  // The first connection learns a position after the event; a later answer shows that it was read.
  gate.waiting[0]?.go();
  await client.query<{ eventCursor: string }, object>("{ eventCursor }");
  await until(() => subscription.cursor !== null);
  client.reconnect();
  await events.emit();
  await until(() => received.includes("2"));
  expect(received).toEqual(events.emitted);
});

/** A client whose requests can be refused and whose responses can be broken off. */
async function breakable() {
  const events = await openKeyEvents(stack());
  let isDown = false;
  let attempts = 0;
  let breaking = new AbortController();
  const client = createClientWith(serverSentEvents(), {
    url: stack().origin,
    credential: events.secret,
    fetch: async (input, init) => {
      attempts++;
      if (isDown) throw new TypeError("fetch failed");
      const { signal } = breaking;
      return fetch(input, {
        ...init,
        signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal,
      });
    },
  });
  onTestFinished(() => client.dispose());
  return {
    events,
    client,
    attempts: () => attempts,
    goDown() {
      isDown = true;
    },
    goUp() {
      isDown = false;
    },
    breakOff() {
      breaking.abort();
      breaking = new AbortController();
    },
  };
}

test.each(["reconnects", "loses its connection"])(
  "a subscription that was connected for longer than it tries without a connection does not give up when it %s",
  async (what) => {
    const giveUpAfterMs = 1_000;
    const { events, client, attempts, goDown, goUp, breakOff } = await breakable();
    goDown();
    const subscription = client.subscribe<KeysData, object>(
      KEYS,
      {},
      { retry: { minPauseMs: 5, giveUpAfterMs } },
    );
    const received: string[] = [];
    void (async () => {
      for await (const { data } of subscription) received.push(data.keyChanged.keyId);
    })().catch(() => {});
    await until(() => attempts() > 0);
    const lostAt = Date.now();
    goUp();
    await until(() => subscription.state === "live");
    const openedAt = Date.now();
    await until(() => Date.now() > openedAt + giveUpAfterMs + 100 && Date.now() > lostAt + giveUpAfterMs);
    goDown();
    const before = attempts();
    if (what === "reconnects") client.reconnect();
    else breakOff();
    await until(() => attempts() > before + 1 || subscription.state === "ended");
    goUp();
    await until(() => subscription.state !== "reconnecting");
    await events.emit();
    await until(() => received.length > 0 || subscription.state === "ended");
    expect([received, subscription.error]).toEqual([events.emitted, undefined]);
  },
);
