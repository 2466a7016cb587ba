import type { DomainEvent, Topic } from "./topics.ts";

/** The id of an entry in a topic's Redis Stream. Redis accepts only increasing ids, so a position is added once. */
export function entryId(position: bigint): string {
  return `${position}-0`;
}

/** The position in the id of an entry. */
export function positionOf(id: string): bigint {
  return BigInt(id.slice(0, id.indexOf("-")));
}

/** The single field of an entry: the event as JSON, without the topic and position, which stream and id carry. */
export function encodeEntry({ id, subject, at, data }: DomainEvent): { event: string } {
  return { event: JSON.stringify({ id, subject, at: at.toISOString(), data }) };
}

/** The event of an entry that `encodeEntry` produced. */
export function decodeEntry(
  topic: Topic,
  entry: string,
  fields: Readonly<Record<string, string>>,
): DomainEvent {
  const { id, subject, at, data } = JSON.parse(fields.event ?? "{}");
  return { id, position: positionOf(entry), topic, subject, at: new Date(at), data };
}
