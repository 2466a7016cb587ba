import "../schema/reflect.ts";
import { Ctx, Directive, Query, Resolver } from "type-graphql";
import type { Context } from "../context.ts";
import { CursorScalar } from "../schema/scalars.ts";

/** Says where the streams of events are. Every subgraph that has some answers it, and gateways resume by it. */
@Resolver()
export class EventCursorResolver {
  @Directive("@shareable")
  @Query(() => CursorScalar, {
    description:
      "Where all streams of events are now. Who asks for it before reading how things stand, and then subscribes with " +
      "it as `after`, misses nothing in between.",
  })
  async eventCursor(@Ctx() { services }: Context): Promise<string> {
    return services.events.cursorAt(await services.events.now());
  }
}
