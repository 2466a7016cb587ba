// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import {
  createClientWith,
  type LiveEvent,
  serverSentEvents,
  type ZerographError,
} from "../../packages/client/src/index.ts";
import {
  ImageJobProgressDocument,
  type ImageJobProgressSubscription,
} from "../../packages/client/src/operations/graphql.ts";
import { readImageJob } from "../../packages/client/src/react/image-job.ts";
import { LiveStore } from "../../packages/client/src/react/live-store.ts";
import { StateStore } from "../../packages/client/src/react/state-store.ts";
import { KEYS, type KeysData, openKeyEvents } from "../support/client/key-events.ts";
import { ask } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
useServices(stack, ["images"]);

/** The store of `useLive` over a real subscription. */
async function openStore({
  keep = 100,
  onEvent = () => {},
}: {
  readonly keep?: number;
  readonly onEvent?: (event: LiveEvent<KeysData>) => void;
}) {
  const events = await openKeyEvents(stack());
  const client = createClientWith(serverSentEvents(), { url: stack().origin, credential: events.secret });
  onTestFinished(() => client.dispose());
  const { eventCursor } = await client.query<{ eventCursor: string }, object>("{ eventCursor }");
  const received: string[] = [];
  const store = new LiveStore<KeysData>({
    open: (after) => client.subscribe<KeysData, object>(KEYS, {}, { after }),
    after: eventCursor,
    keep,
    onEvent(event) {
      received.push(event.data.keyChanged.keyId);
      onEvent(event);
    },
  });
  return { events, store, received };
}

test("an event that was taken while the component is unmounted is brought when it is mounted again", async () => {
  let stop: (() => void) | undefined;
  // Rendering in a microtask, as React does, comes between an event that is taken and its delivery.
  const onEvent = () => queueMicrotask(() => stop?.());
  const { events, store, received } = await openStore({ onEvent });
  for (let rounds = 0; rounds < 5; rounds++) {
    const before = received.length;
    stop = store.subscribe(() => {});
    await events.emit(3);
    await until(() => received.length > before);
    stop();
  }
  stop = undefined;
  onTestFinished(store.subscribe(() => {}));
  await events.emit();
  await until(() => received.includes(events.emitted.at(-1) ?? ""));
  expect(received).toEqual(events.emitted);
});

test("a store that keeps no events has the latest one, and holds no other", async () => {
  const { events, store, received } = await openStore({ keep: 0 });
  onTestFinished(store.subscribe(() => {}));
  await events.emit(5);
  await until(() => received.length === 5 && store.read().latest?.keyChanged.keyId === "5");
  expect(store.read().events).toEqual([]);
});

test("a store that keeps some events has the newest of them in order", async () => {
  const { events, store } = await openStore({ keep: 3 });
  onTestFinished(store.subscribe(() => {}));
  await events.emit(5);
  await until(() => store.read().latest?.keyChanged.keyId === "5");
  expect(store.read().events.map(({ keyChanged }) => keyChanged.keyId)).toEqual(["3", "4", "5"]);
});

test("a store without a subscription is idle, also when it is restarted", () => {
  const store = new LiveStore({ open: undefined, after: null, keep: 1, onEvent() {} });
  onTestFinished(store.subscribe(() => {}));
  store.restart();
  expect(store.read().state).toBe("idle");
});

test("a state that ended with an error is loading again, without the error, once it is mounted again", async () => {
  const failure = new Error("refused");
  let isRefused = true;
  const store = new StateStore<number, never>({
    async load(signal) {
      if (isRefused) throw failure;
      await until(() => signal.aborted || !isHeld);
      return { value: 7, cursor: null };
    },
    follow: () => {
      throw new Error("there is nothing to follow");
    },
    reduce: (value) => value,
  });
  let isHeld = true;
  const stop = store.subscribe(() => {});
  await until(() => store.read().state === "ended");
  expect(store.read()).toEqual({ value: undefined, state: "ended", error: failure });
  stop();
  isRefused = false;
  onTestFinished(store.subscribe(() => {}));
  expect(store.read()).toEqual({ value: undefined, state: "connecting", error: undefined });
  isHeld = false;
  await until(() => store.read().state === "ended");
  expect(store.read()).toEqual({ value: 7, state: "ended", error: undefined });
});

test("a completed job whose images are refused says why there are none", async () => {
  const { app, origin } = stack();
  const { account, secret } = await seedAccount(app.database, 10n ** 18n);
  const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`;
  const { data } = await ask(
    origin,
    secret,
    `mutation { submitImageJob(input: ${input}) { imageJob { id } } }`,
  );
  const { id } = data.submitImageJob.imageJob;
  // Its scope is the job, but not what is in it.
  const reader = await app.managementKeys.create(account, "reader", ["account:read"]);
  for (const [credential, images, code] of [
    [secret, 1, undefined],
    [reader.secret, 0, "insufficient_scope"],
  ] as const) {
    const client = createClientWith(serverSentEvents(), { url: origin, credential });
    onTestFinished(() => client.dispose());
    const store = new LiveStore<ImageJobProgressSubscription>({
      open: (after) => client.subscribe(ImageJobProgressDocument, { id }, { after }),
      after: null,
      keep: 100,
      onEvent: () => {},
    });
    onTestFinished(store.subscribe(() => {}));
    await until(() => store.read().state === "ended");
    const job = readImageJob(store.read());
    expect(job).toMatchObject({ isDone: true, status: "COMPLETED", state: "ended" });
    expect([job.images.length, (job.error as ZerographError | undefined)?.code]).toEqual([images, code]);
  }
});
