import "../schema/reflect.ts";
import { Directive, Field, ID, InterfaceType } from "type-graphql";
import type { EventsService } from "../../../src/events/events.service.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Context } from "../context.ts";
import { CursorScalar, DateTimeScalar } from "../schema/scalars.ts";

/** The fields that every subscription event has. */
@InterfaceType("Event", {
  description:
    "An event delivered by a subscription. Delivery is at least once, and in order per account, job or file.",
})
export abstract class EventType {
  @Field(() => ID, {
    description: "The event's id. It is the same on every delivery: use it to discard duplicates.",
  })
  id!: string;

  @Field(() => CursorScalar, {
    description: "The event's cursor. Pass it as `after` to resume the subscription after this event.",
  })
  cursor!: string;

  @Field(() => DateTimeScalar, { description: "When the event happened." })
  at!: Date;
}

/**
 * Marks a subscription that, without `after`, only emits future events and does nothing when it is opened: gateways
 * open identical ones once. A subscription that starts with the current state is not marked.
 */
export function FollowsLive(): ReturnType<typeof Directive> {
  return Directive('@tag(name: "live")');
}

/** The description of every subscription's `after` argument. */
export const AFTER_DESCRIPTION =
  "Cursor of the last received event. Events missed since then are delivered first, up to 24 h back.";

/** What a subscription's source receives. */
export type Subscribing = { readonly args: { readonly after?: string | null }; readonly context: Context };

/** Encodes the cursor of a position. */
export type CursorSource = Pick<EventsService, "cursorAt">;

/** Maps a domain event to the fields that all events share. */
export function toEvent({ id, position, at }: DomainEvent, cursors: CursorSource): EventType {
  return { id, cursor: cursors.cursorAt(position), at };
}
