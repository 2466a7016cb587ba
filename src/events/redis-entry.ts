import type { DomainEvent, Topic } from "./topics.ts";

/** The id of an entry in a topic's Redis Stream. Redis takes ids only in growing order, so a position goes in once. */
export function entryId(position: bigint): string {
  return `${position}-0`;
}

/** The position in the id of an entry. */
export function positionOf(id: string): bigint {
  return BigInt(id.slice(0, id.indexOf("-")));
}

/** The one field of an entry: the event as JSON, without what its stream and its id already say. */
export function encodeEntry({ id, subject, at, data }: DomainEvent): { event: string } {
  return { event: JSON.stringify({ id, subject, at: at.toISOString(), data }) };
}

/** The event of an entry that `encodeEntry` made. */
export function decodeEntry(
  topic: Topic,
  entry: string,
  fields: Readonly<Record<string, string>>,
): DomainEvent {
  const { id, subject, at, data } = JSON.parse(fields.event ?? "{}");
  return { id, position: positionOf(entry), topic, subject, at: new Date(at), data };
}
