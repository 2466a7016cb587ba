import "../schema/reflect.ts";
import { Ctx, Directive, Query, Resolver } from "type-graphql";
import type { Context } from "../context.ts";
import { CursorScalar } from "../schema/scalars.ts";

/** The current position of the event streams. Every subgraph with subscriptions serves it; gateways resume from it. */
@Resolver()
export class EventCursorResolver {
  @Directive("@shareable")
  @Query(() => CursorScalar, {
    nullable: true,
    description:
      "Cursor of the current position in the event streams. Fetch it before an initial query, then pass it as " +
      "`after` when subscribing: no event between the two is missed.",
  })
  async eventCursor(@Ctx() { services }: Context): Promise<string> {
    return services.events.cursorAt(await services.events.now());
  }
}
