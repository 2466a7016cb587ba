import "../schema/reflect.ts";
import { Directive, Field, ID, InterfaceType } from "type-graphql";
import type { EventsService } from "../../../src/events/events.service.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Context } from "../context.ts";
import { CursorScalar, DateTimeScalar } from "../schema/scalars.ts";

/** What every event of a subscription has. */
@InterfaceType("Event", {
  description:
    "Something that happened. Delivery is at least once, and in order for each account, job or file.",
})
export abstract class EventType {
  @Field(() => ID, { description: "The same whenever this event is delivered again." })
  id!: string;

  @Field(() => CursorScalar, {
    description: "Resumes the subscription behind this event: send it as `after`.",
  })
  cursor!: string;

  @Field(() => DateTimeScalar, { description: "When it happened." })
  at!: Date;
}

/**
 * Marks a subscription that, without `after`, only tells what happens from now on, and does nothing when it is opened:
 * gateways open equal ones once. One that begins with how things stand is not marked.
 */
export function FollowsLive(): ReturnType<typeof Directive> {
  return Directive('@tag(name: "live")');
}

/** What the argument `after` of every subscription says. */
export const AFTER_DESCRIPTION =
  "The cursor of the last event that was received: what was missed since comes first (24 h).";

/** What the source of a subscription is given. */
export type Subscribing = { readonly args: { readonly after?: string | null }; readonly context: Context };

/** What knows the cursor of a position. */
export type CursorSource = Pick<EventsService, "cursorAt">;

/** The part of an event that all have in common. */
export function toEvent({ id, position, at }: DomainEvent, cursors: CursorSource): EventType {
  return { id, cursor: cursors.cursorAt(position), at };
}
