import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import type { Database, Queries } from "../../src/db/database.ts";
import type { Bus, EventStream } from "../../src/events/bus.ts";
import { hasUnpublished, type NewEvent } from "../../src/events/outbox.ts";
import { EventRelay } from "../../src/events/relay.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { until } from "./until.ts";

/** An event of topic `file.submitted`; `subject` is the file's root and `note` travels as its `txSeq`. */
export function fileEvent(subject: string, note: string): NewEvent<"file.submitted"> {
  return {
    topic: "file.submitted",
    subject,
    data: { root: subject, txSeq: note, size: "1", removed: false },
  };
}

/** The same event as published at `position`. */
export function publishedFile(position: bigint | number, subject = "0xaa"): DomainEvent<"file.submitted"> {
  const note = fileEvent(subject, String(position));
  return { ...note, id: randomUUID(), position: BigInt(position), at: new Date() };
}

/** The note of such an event. */
export function noteOf(event: DomainEvent): string | undefined {
  return event.topic === "file.submitted" ? event.data.txSeq : undefined;
}

/** A running relay, until the test is finished. */
export function startRelay(database: Database, bus: Bus): EventRelay {
  const relay = new EventRelay(database, bus, createLogger("silent"));
  relay.start();
  onTestFinished(() => relay.stop());
  return relay;
}

/** The next `count` events of a stream, which stays open. */
export async function take(stream: EventStream, count: number): Promise<DomainEvent[]> {
  const events: DomainEvent[] = [];
  while (events.length < count) {
    const next = await stream.next();
    if (next.done) throw new Error(`the stream ended after ${events.length} of ${count} events`);
    events.push(next.value);
  }
  return events;
}

/** Waits until every committed event is published: a later subscriber receives only later events. */
export async function untilPublished(database: Queries): Promise<void> {
  await until(async () => !(await hasUnpublished(database)));
}

/** Reads a stream in the background into the list it returns. */
export function collect(stream: EventStream): DomainEvent[] {
  const events: DomainEvent[] = [];
  void (async () => {
    for await (const event of stream) events.push(event);
  })().catch(() => {});
  return events;
}
