import type { DomainEvent } from "./topics.ts";

/**
 * The position of a new event, or a later one of its topic, belongs to another event of the bus: no reader would
 * receive it. It then needs a position after all others. Such events are of an earlier state of this database, as
 * before a restore from a backup, or of another product on the same Redis.
 */
export class PositionTakenError extends Error {
  override readonly name = "PositionTakenError";

  constructor({ topic, position }: Pick<DomainEvent, "topic" | "position">) {
    super(`the position ${position} of ${topic} is taken by another event`);
  }
}
