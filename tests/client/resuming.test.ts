// @module-tag large
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ClientOptions,
  createClientWith,
  EventsLost,
  multipart,
  type OpenTransport,
  OperationRefused,
  type SubscribeOptions,
  type Subscription,
  serverSentEvents,
  webSocket,
  ZerographError,
} from "../../packages/client/src/index.ts";
import { forgetEvents } from "../../src/events/outbox.ts";
import { KEYS, type KeyEvents, type KeysData, openKeyEvents } from "../support/client/key-events.ts";
import { untilPublished } from "../support/events.ts";
import { type PausableProxy, startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack({ GRAPH_LIMITS: "heartbeatMs=1500" });
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const RETRY = { minPauseMs: 5, maxPauseMs: 50 };

/** A subscription through a proxy, and what it has brought so far. */
type Followed = {
  readonly events: KeyEvents;
  readonly proxy: PausableProxy;
  readonly received: string[];
  readonly states: string[];
  readonly subscription: Subscription<KeysData>;
  /** Settles with the subscription. */
  readonly over: Promise<unknown>;
};

const TRANSPORTS: readonly (readonly [string, () => OpenTransport])[] = [
  ["WebSocket", () => webSocket({ pingMs: 200 })],
  ["server-sent events", serverSentEvents],
  ["multipart", multipart],
];

describe.each(TRANSPORTS)("a subscription over %s", (_, openTransport) => {
  async function connect(options: Partial<ClientOptions> = {}) {
    const events = await openKeyEvents(stack());
    const proxy = await startPausableProxy(Number(new URL(stack().origin).port));
    const client = createClientWith(openTransport(), {
      url: `http://127.0.0.1:${proxy.port}`,
      credential: events.secret,
      subscriptions: { retry: RETRY },
      ...options,
    });
    ends.push(
      () => proxy.close(),
      () => client.dispose(),
    );
    return { events, proxy, client };
  }

  async function follow(options: SubscribeOptions = {}): Promise<Followed> {
    const { events, proxy, client } = await connect();
    const subscription = client.subscribe<KeysData, { after?: string }>(KEYS, {}, options);
    const states: string[] = [subscription.state];
    subscription.onState((state) => void states.push(state));
    const received: string[] = [];
    return { events, proxy, received, states, subscription, over: collect(subscription, received) };
  }

  test("brings each event once and in order, also those that happen while its connection is cut", async () => {
    const { events, proxy, received, states, subscription } = await follow();
    await until(() => subscription.state === "live");
    for (let cut = 0; cut < 5; cut++) {
      await events.emit(3);
      await until(() => received.length === events.emitted.length);
      await proxy.cut();
      await until(() => subscription.state === "reconnecting");
      await events.emit(2);
      await proxy.open();
    }
    await until(() => received.length === events.emitted.length);
    await until(() => subscription.state === "live");
    expect(received).toEqual(events.emitted);
    // On a busy machine a connection may be lost once more.
    const interrupted = states.filter((state) => state !== "live").join(" ");
    expect(interrupted).toMatch(/^connecting( reconnecting replaying){5,}$/);
  });

  test("misses nothing when it is cut before its first event", async () => {
    const { events, proxy, received, subscription } = await follow();
    await until(() => subscription.state === "live");
    await proxy.cut();
    await events.emit(2);
    await untilPublished(stack().app.database);
    await proxy.open();
    await until(() => received.length === 2);
    expect(received).toEqual(events.emitted);
  });

  test("starts when the server can be reached, after the given cursor", async () => {
    const { events, proxy, client } = await connect();
    const { eventCursor } = await client.query<{ eventCursor: string }, object>("{ eventCursor }");
    await events.emit(2);
    await untilPublished(stack().app.database);
    await proxy.cut();
    const subscription = client.subscribe<KeysData, object>(KEYS, {}, { after: eventCursor });
    const received: string[] = [];
    void collect(subscription, received);
    await until(() => client.state === "connecting");
    await proxy.open();
    await until(() => received.length === 2);
    expect(received).toEqual(events.emitted);
    expect(["replaying", "live"]).toContain(client.state);
  });

  test("ends at once with return(), also while it waits for an event, and frees its place on the server", async () => {
    const { app } = stack();
    await until(() => app.events.openStreams === 0);
    const { subscription, over } = await follow();
    await until(() => app.events.openStreams === 1 && subscription.state === "live");
    await subscription.return?.();
    expect(subscription.state).toBe("ended");
    await expect(over).resolves.toBeUndefined();
    await until(() => app.events.openStreams === 0);
  });

  test("connects again with the present credential when it is asked to, and misses nothing", async () => {
    const events = await openKeyEvents(stack());
    const credentials: string[] = [];
    const client = createClientWith(openTransport(), {
      url: stack().origin,
      credential() {
        credentials.push(events.secret);
        return events.secret;
      },
    });
    ends.push(() => client.dispose());
    const received: string[] = [];
    const subscription = client.subscribe<KeysData, object>(KEYS, {});
    void collect(subscription, received);
    await until(() => client.state === "live");
    await events.emit();
    await until(() => received.length === 1);
    const asked = credentials.length;
    client.reconnect();
    expect(client.state).toBe("reconnecting");
    await events.emit(2);
    await until(() => received.length === 3 && client.state === "live");
    expect(received).toEqual(events.emitted);
    expect(credentials.length).toBe(asked + 1);
  });

  test("ends with its signal", async () => {
    const leaving = new AbortController();
    const { subscription, over } = await follow({ signal: leaving.signal });
    await until(() => subscription.state === "live");
    leaving.abort();
    expect(subscription.state).toBe("ended");
    await expect(over).resolves.toBeUndefined();
  });

  test("notices a connection that has become silent, and opens another one", async () => {
    const { events, proxy, received, states, subscription } = await follow({ silentMs: 5_000 });
    await until(() => subscription.state === "live");
    await events.emit();
    await until(() => received.length === 1);
    proxy.pause();
    await until(() => subscription.state === "reconnecting");
    await events.emit();
    proxy.resume();
    await until(() => received.length === 2);
    expect(received).toEqual(events.emitted);
    expect(states).toContain("replaying");
  });

  test("does not give up a connection on which only heartbeats arrive", async () => {
    const { secret } = await openKeyEvents(stack());
    let abandoned = 0;
    const counting: OpenTransport = (options) => {
      const transport = openTransport()(options);
      const subscribe: typeof transport.subscribe = (operation, sink) => {
        const opened = transport.subscribe(operation, sink);
        const abandon = () => {
          abandoned++;
          opened.abandon();
        };
        return { stop: opened.stop, abandon };
      };
      return { subscribe, reset: () => transport.reset(), dispose: () => transport.dispose() };
    };
    const client = createClientWith(counting, { url: stack().origin, credential: secret });
    ends.push(() => client.dispose());
    const silentMs = 6_000;
    const subscription = client.subscribe(KEYS, {}, { silentMs });
    await until(() => subscription.state === "live");
    const since = performance.now();
    await until(() => performance.now() - since > 2 * silentMs);
    expect(abandoned).toBe(0);
  });

  test("ends with EventsLost, and not with a gap, when the events after its cursor are gone", async () => {
    const { events, proxy, received, subscription, over } = await follow();
    await until(() => subscription.state === "live");
    await events.emit();
    await until(() => received.length === 1);
    const { cursor } = subscription;
    await proxy.cut();
    await events.emit(2);
    await untilPublished(stack().app.database);
    const { database } = stack().app;
    await database.rows("update outbox set at = now() - interval '25 hours'");
    await forgetEvents(database, 1_000);
    await proxy.open();
    await expect(over).rejects.toThrow(EventsLost);
    expect(subscription).toMatchObject({ state: "ended", error: { code: "cursor_expired", cursor } });
    expect(received).toEqual(["1"]);
  });

  test("ends with the server's reason when its key is revoked", async () => {
    const { events, subscription, over } = await follow();
    await until(() => subscription.state === "live");
    await events.revoke();
    await expect(over).rejects.toThrow(OperationRefused);
    expect(subscription.state).toBe("ended");
  });

  test.each([
    ["a wrong credential", { credential: "mk-wrong" }, KEYS],
    ["a missing credential", { credential: undefined }, KEYS],
    [
      "an invalid document",
      {},
      "subscription($after: Cursor) { keyChanged(after: $after) { cursor nothing } }",
    ],
  ])("ends without another attempt for %s", async (_what, options, document) => {
    const { client } = await connect(options as Partial<ClientOptions>);
    const subscription = client.subscribe<KeysData, object>(document, {});
    const states: string[] = [];
    subscription.onState((state) => void states.push(state));
    await expect(collect(subscription, [])).rejects.toThrow(OperationRefused);
    expect(states).not.toContain("reconnecting");
  });

  test("is refused a document without the cursor that it resumes with", async () => {
    const { events, client } = await connect();
    const document = "subscription($after: Cursor) { keyChanged(after: $after) { id keyId } }";
    const subscription = client.subscribe<KeysData, object>(document, {});
    const over = collect(subscription, []);
    await until(() => subscription.state === "live");
    await events.emit();
    await expect(over).rejects.toMatchObject({ code: "cursor_not_selected" });
    await expect(over).rejects.toBeInstanceOf(ZerographError);
  });

  test.each([10, 1, 0])(
    "waits for a slow reader at the server while %d events wait, and then continues without a gap",
    async (maxWaiting) => {
      const { events, client } = await connect();
      const subscription = client.subscribe<KeysData, object>(KEYS, {}, { maxWaiting });
      await until(() => subscription.state === "live");
      await events.emit(20);
      await until(() => subscription.state === "reconnecting");
      const received: string[] = [];
      void collect(subscription, received);
      await until(() => received.length === 20);
      expect(received).toEqual(events.emitted);
    },
  );

  test("takes undefined for the default and Infinity for no limit, and refuses what is no number", async () => {
    const { events, client } = await connect();
    const unlimited = { maxPauseMs: Infinity, giveUpAfterMs: Infinity, minPauseMs: undefined };
    const timer = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timer.mockRestore());
    const retry = unlimited as unknown as NonNullable<SubscribeOptions["retry"]>;
    const options = { silentMs: Infinity, maxWaiting: Infinity, retry };
    const subscription = client.subscribe<KeysData, object>(KEYS, {}, options);
    await until(() => subscription.state === "live");
    await events.emit(1);
    expect(await subscription.next()).toMatchObject({ done: false });
    // Node runs a timer at once whose time is longer than timers can be.
    const times = timer.mock.calls.map(([, ms = 0]) => ms);
    expect(times.filter((ms) => !(ms <= 2_147_483_647))).toEqual([]);
    for (const wrong of [{ silentMs: -1 }, { maxWaiting: Number.NaN }, { retry: { minPauseMs: -1 } }])
      expect(() => client.subscribe(KEYS, {}, wrong)).toThrow(RangeError);
  });

  test("of a field without cursors ends when its connection is lost, or continues with a gap if that is allowed", async () => {
    const { proxy, client } = await connect();
    const document = "subscription { blockAdded { number } }";
    const strict = client.subscribe<KeysData, object>(document, {});
    const lenient = client.subscribe<KeysData, object>(document, {}, { allowGaps: true });
    await Promise.all([strict.next(), lenient.next()]);
    await proxy.cut();
    await expect(collect(strict, [])).rejects.toMatchObject({ name: "EventsLost", code: "not_resumable" });
    await proxy.open();
    await until(() => lenient.state !== "reconnecting");
    expect(await lenient.next()).toMatchObject({ done: false });
  });

  test("gives up after the set time without a server", async () => {
    const { proxy, client } = await connect();
    await proxy.cut();
    const subscription = client.subscribe(KEYS, {}, { retry: { ...RETRY, giveUpAfterMs: 300 } });
    await expect(collect(subscription as Subscription<KeysData>, [])).rejects.toMatchObject({
      name: "ConnectionLost",
      code: "connection_lost",
    });
  });
});

async function collect(subscription: Subscription<KeysData>, received: string[]): Promise<void> {
  for await (const { data } of subscription) received.push(data.keyChanged?.keyId);
}
