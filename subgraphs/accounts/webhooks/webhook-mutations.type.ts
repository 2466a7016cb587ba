import "../../shared/schema/reflect.ts";
import { Field, ID, InputType, ObjectType } from "type-graphql";
import type { Webhook } from "../../../src/webhooks/webhook.ts";
import type { WebhookEvent } from "../../../src/webhooks/webhook-events.ts";
import { SECRET_IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { CursorScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { WebhookEventType, WebhookResultType, WebhookType } from "./webhook.type.ts";

const SECRET = "The `whsec_` secret that signs deliveries. Returned only here and by a rotation.";
const THRESHOLD = "The balance below which `BALANCE_LOW` is sent. That event requires it.";

/** A webhook to create. */
@InputType("CreateWebhookInput", { description: "A webhook to create." })
export class CreateWebhookInput {
  @Field(() => String, { description: "The webhook's name, 1 to 100 characters." })
  name!: string;

  @Field(() => String, { description: "The URL to post events to: https, at a public address." })
  url!: string;

  @Field(() => [WebhookEventType], { description: "The events to receive, at least one." })
  events!: readonly WebhookEvent[];

  @Field(() => NeuronScalar, { nullable: true, description: THRESHOLD })
  balanceThreshold?: string | null;

  @Field(() => String, { nullable: true, description: SECRET_IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** A webhook that was created. */
@ObjectType("CreateWebhookPayload", {
  description: "The result of `createWebhook`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateWebhookPayload extends PayloadType {
  @Field(() => String, { nullable: true, description: SECRET })
  secret?: string | null;

  @Field(() => WebhookType, { nullable: true, description: "The created webhook." })
  webhook?: Webhook | null;
}

/** Changes of a webhook. */
@InputType("UpdateWebhookInput", {
  description:
    "Changes to a webhook. A field that is omitted is left unchanged; null removes `balanceThreshold`, and leaves any other field unchanged.",
})
export class UpdateWebhookInput {
  @Field(() => ID, { description: "The webhook's id." })
  id!: string;

  @Field(() => String, { nullable: true, description: "The new name." })
  name?: string | null;

  @Field(() => String, { nullable: true, description: "The new URL." })
  url?: string | null;

  @Field(() => [WebhookEventType], {
    nullable: true,
    description: "The events to receive, instead of the current ones.",
  })
  events?: readonly WebhookEvent[] | null;

  @Field(() => NeuronScalar, { nullable: true, description: THRESHOLD })
  balanceThreshold?: string | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether events are delivered. Enabling resumes after the last delivered event.",
  })
  enabled?: boolean | null;
}

/** A webhook that was changed. */
@ObjectType("UpdateWebhookPayload", {
  description: "The result of `updateWebhook`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class UpdateWebhookPayload extends PayloadType {
  @Field(() => WebhookType, { nullable: true, description: "The webhook with its changes." })
  webhook?: Webhook | null;
}

/** A webhook to delete. */
@InputType("DeleteWebhookInput", { description: "A webhook to delete." })
export class DeleteWebhookInput {
  @Field(() => ID, { description: "The webhook's id." })
  id!: string;
}

/** A webhook that was deleted. */
@ObjectType("DeleteWebhookPayload", {
  description: "The result of `deleteWebhook`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class DeleteWebhookPayload extends PayloadType {
  @Field(() => Boolean, { nullable: true, description: "Whether the webhook was deleted." })
  deleted?: boolean | null;
}

/** A webhook to test. */
@InputType("TestWebhookInput", { description: "A webhook to deliver a test event to." })
export class TestWebhookInput {
  @Field(() => ID, { description: "The webhook's id." })
  id!: string;
}

/** The outcome of a test. */
@ObjectType("TestWebhookPayload", {
  description: "The result of `testWebhook`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class TestWebhookPayload extends PayloadType {
  @Field(() => WebhookResultType, { nullable: true, description: "How the receiver answered." })
  result?: WebhookResultType | null;
}

/** A secret to replace. */
@InputType("RotateWebhookSecretInput", { description: "A webhook whose signing secret is replaced." })
export class RotateWebhookSecretInput {
  @Field(() => ID, { description: "The webhook's id." })
  id!: string;

  @Field(() => String, { nullable: true, description: SECRET_IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** A secret that was replaced. */
@ObjectType("RotateWebhookSecretPayload", {
  description: "The result of `rotateWebhookSecret`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class RotateWebhookSecretPayload extends PayloadType {
  @Field(() => String, { nullable: true, description: SECRET })
  secret?: string | null;

  @Field(() => WebhookType, { nullable: true, description: "The webhook." })
  webhook?: Webhook | null;
}

/** Events to deliver again. */
@InputType("ReplayWebhookInput", { description: "Events to deliver to a webhook again." })
export class ReplayWebhookInput {
  @Field(() => ID, { description: "The webhook's id." })
  id!: string;

  @Field(() => CursorScalar, {
    description:
      "Deliver the events after this cursor, which may come from a delivery or from any event of a subscription.",
  })
  after!: string;
}

/** A webhook whose events are delivered again. */
@ObjectType("ReplayWebhookPayload", {
  description: "The result of `replayWebhook`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class ReplayWebhookPayload extends PayloadType {
  @Field(() => WebhookType, { nullable: true, description: "The webhook at its new position." })
  webhook?: Webhook | null;
}
