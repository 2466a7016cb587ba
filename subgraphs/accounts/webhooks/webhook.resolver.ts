import "../../shared/schema/reflect.ts";
import { Args, Ctx, FieldResolver, Int, Resolver, Root } from "type-graphql";
import { permitOn } from "../../../src/keys/auth/permissions.ts";
import type { Webhook } from "../../../src/webhooks/webhook.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, pageOf } from "../../shared/schema/connection.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { AccountType } from "../account/account.type.ts";
import { toResult, WebhookAttemptType, WebhookConnection, WebhookType } from "./webhook.type.ts";

/** The webhooks of an account. */
@Resolver(() => AccountType)
export class AccountWebhooksResolver {
  @Requires("webhook.read")
  @FieldResolver(() => WebhookConnection, {
    nullable: true,
    description: "The account's webhooks, oldest first, at most 10. Requires the scope `account:read`.",
  })
  async webhooks(
    @Root() { address }: AccountType,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<Webhook>> {
    permitOn(principal, "webhook.read", address);
    const webhooks = await services.webhooks.list(address.toLowerCase());
    return pageOf("webhooks", webhooks, args, ({ createdAt, id }) => `${createdAt.toISOString()} ${id}`);
  }
}

/** The fields of a webhook that are not in its row. */
@Resolver(() => WebhookType)
export class WebhookResolver {
  @FieldResolver(() => Int, { description: "The number of consecutive failed attempts." })
  consecutiveFailures(@Root() { failures }: Webhook): number {
    return failures;
  }

  @FieldResolver(() => CursorScalar, {
    description:
      "Cursor of the last event that was processed: delivered, or skipped because it does not concern the webhook.",
  })
  cursor(@Root() webhook: Webhook, @Ctx() { services }: Context): string {
    return services.webhooks.cursorOf(webhook);
  }

  @FieldResolver(() => [WebhookAttemptType], {
    description: "The last 50 delivery attempts, newest first.",
  })
  async attempts(
    @Root() { id }: Webhook,
    @Ctx() { loaders }: Context,
  ): Promise<readonly WebhookAttemptType[]> {
    const attempts = await loaders.webhookAttempts.load(id);
    return attempts.map((attempt) => {
      const { number, eventId, event, sequence, at: attemptedAt } = attempt;
      return { number, eventId, event, sequence, attemptedAt, result: toResult(attempt) };
    });
  }
}
