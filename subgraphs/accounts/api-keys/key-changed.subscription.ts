import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import { filterStream } from "../../../src/events/filtered-stream.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import { isPermitted, permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, FollowsLive, type Subscribing } from "../../shared/events/event.type.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { ApiKeyType } from "./api-key.type.ts";
import { KeyEventType, toKeyEvent } from "./key-event.type.ts";

/** Emits every change of an account's keys. */
@Resolver(() => KeyEventType)
export class KeyChangedSubscription {
  @FollowsLive()
  @Requires("api-key.read")
  @Subscription(() => KeyEventType, {
    description:
      "Emits every change of the caller's keys. Changes of `mk-` keys are emitted to wallet sessions only. " +
      "Requires the scope `keys:read`.",
    subscribe: followKeys,
  })
  keyChanged(
    @Root() event: DomainEvent<"key.changed">,
    @Ctx() { services }: Context,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): KeyEventType {
    return toKeyEvent(event, services.events);
  }

  @FieldResolver(() => ApiKeyType, {
    nullable: true,
    description: "The current state of the `sk-` key. Null for an `mk-` key.",
  })
  async apiKey(@Root() { kind, keyId }: KeyEventType, @Ctx() context: Context): Promise<ApiKey | null> {
    return kind === "api-key" ? NODE_FINDERS.ApiKey(keyId, context) : null;
  }
}

async function followKeys({ args, context }: Subscribing): Promise<EventStream<"key.changed">> {
  const { principal, services } = context;
  const subject = permit(principal, "api-key.read").account;
  const stream = await services.events.follow({ topic: "key.changed", subject }, args.after ?? undefined);
  if (isPermitted(principal, "management-key.read")) return stream;
  return filterStream(stream, ({ data }) => data.kind === "api-key");
}
