import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type {
  DeliveryFailure,
  DeliveryResult,
  DisabledReason,
  Webhook,
  WebhookStatus,
} from "../../../src/webhooks/webhook.ts";
import type { WebhookEvent } from "../../../src/webhooks/webhook-events.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { WebhookDisabledReason } from "../../shared/webhook-disabled-reason.type.ts";

/** The events that a webhook may receive. */
export const WebhookEventType = defineEnum<WebhookEvent>(
  "WebhookEventType",
  "An event that a webhook may receive. Payloads and the REST API spell it with a dot: `job.ended`.",
  {
    "job.progressed": "An image job or a batch advanced by a step and has not ended.",
    "job.ended": "An image job or a batch completed, failed or was cancelled.",
    "deposit.seen": "A deposit is on the chain and waits for its confirmations.",
    "deposit.credited": "A deposit was credited.",
    "deposit.reverted": "A deposit that was not credited yet was reorged out.",
    "balance.low": "The balance fell below `balanceThreshold`.",
    "api_key.created": "An `sk-` key was created.",
    "api_key.updated": "An `sk-` key was updated.",
    "api_key.revoked": "An `sk-` key was revoked.",
    "api_key.limit_reached": "An `sk-` key used 80 % or all of its credit limit in the current period.",
    "tag_budget.limit_reached": "Requests with a tag used 80 % or all of its budget in the current period.",
    "management_key.created": "An `mk-` key was created. Requires a wallet session.",
    "management_key.updated": "An `mk-` key was updated. Requires a wallet session.",
    "management_key.revoked": "An `mk-` key was revoked. Requires a wallet session.",
    "sealed_key.published": "Keys of an agent token were sealed for the account.",
    "sealed_key.reverted": "Sealed keys were reorged out.",
    "webhook.disabled": "Another webhook of the account was disabled because of its receiver.",
  },
);

/** The status of a webhook. */
const WebhookStatusType = defineEnum<WebhookStatus>("WebhookStatus", "The status of a webhook.", {
  active: "Events are delivered.",
  failing: "The last attempt failed. It is repeated at `nextAttemptAt`.",
  disabled: "Nothing is delivered until the webhook is enabled again.",
});

/** Why an attempt failed. */
const WebhookFailure = defineEnum<DeliveryFailure>(
  "WebhookFailure",
  "Why an attempt to deliver an event failed.",
  {
    address_not_allowed: "The host name resolves to an address that is not public.",
    name_not_resolved: "The host name could not be resolved.",
    unreachable: "The receiver refused the connection, closed it, or has no route to it.",
    tls_failed:
      "The TLS handshake failed: the receiver's certificate is not trusted, has expired, or names another host.",
    malformed_answer: "The answer was not HTTP/1.1, or its headers exceeded 16 KiB.",
    timed_out: "The receiver did not answer within 15 seconds.",
    redirected: "The receiver answered with a redirect, which is not followed.",
    refused: "The receiver answered with a status other than 2xx.",
  },
);

/** A webhook, as its account sees it. */
@ObjectType("Webhook", {
  description:
    "A URL to which events of the account are delivered, signed according to Standard Webhooks. Its secret cannot be read.",
  implements: NodeType,
  simpleResolvers: true,
})
export class WebhookType {
  @Field(() => String, { description: "The webhook's name." })
  name!: string;

  @Field(() => String, { description: "The URL to which events are posted." })
  url!: string;

  @Field(() => [WebhookEventType], { description: "The events that the webhook receives." })
  events!: readonly WebhookEvent[];

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The balance below which `BALANCE_LOW` is sent. Null if none is set.",
  })
  balanceThreshold!: bigint | null;

  @Field(() => WebhookStatusType, { description: "The webhook's status." })
  status!: WebhookStatus;

  @Field(() => WebhookDisabledReason, {
    nullable: true,
    description: "Who or what disabled the webhook. Null if it is enabled.",
  })
  disabledReason!: DisabledReason | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the webhook was disabled. Null if it is enabled.",
  })
  disabledAt!: Date | null;

  @Field(() => DateTimeScalar, { description: "When the webhook was created." })
  createdAt!: Date;

  @Field(() => Int, { description: "The number of the last delivered event. 0 before the first." })
  sequence!: number;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description:
      "When the first of the consecutive failed attempts was made. Null if the last attempt succeeded.",
  })
  firstFailedAt!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the failed attempt will be repeated. Null if it will not.",
  })
  nextAttemptAt!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description:
      "Deliveries are also signed with the previous secret until this time. Null before the first rotation.",
  })
  previousSecretUntil!: Date | null;
}

/** The global id of a webhook, and its raw id. */
export const WebhookNodeResolvers = defineNodeResolvers<Webhook>(() => WebhookType, {
  name: "Webhook",
  keyOf: ({ id }) => id,
  raw: { field: "webhookId", description: "The webhook's id in the REST API: `webhook_id`." },
});

/** A list of webhooks. */
export const WebhookConnection = defineCountedConnection("Webhook", () => WebhookType);

/** The outcome of an attempt. */
@ObjectType("WebhookResult", {
  description: "The outcome of an attempt to deliver an event.",
  simpleResolvers: true,
})
export class WebhookResultType {
  @Field(() => Boolean, { description: "Whether the receiver answered with a 2xx status." })
  delivered!: boolean;

  @Field(() => Int, {
    nullable: true,
    description: "The HTTP status of the receiver's answer. Null if there was none.",
  })
  status!: number | null;

  @Field(() => WebhookFailure, {
    nullable: true,
    description: "Why the attempt failed. Null if the event was delivered.",
  })
  failure!: DeliveryFailure | null;

  @Field(() => Int, { description: "The duration of the attempt, in milliseconds." })
  durationMs!: number;
}

/** A recorded attempt. */
@ObjectType("WebhookAttempt", {
  description: "A recorded attempt to deliver an event.",
  simpleResolvers: true,
})
export class WebhookAttemptType {
  @Field(() => Int, { description: "The number of the attempt, from 1." })
  number!: number;

  @Field(() => String, { description: "The event's id: the header `webhook-id` of the delivery." })
  eventId!: string;

  @Field(() => WebhookEventType, { description: "The event." })
  event!: WebhookEvent;

  @Field(() => Int, { description: "The `sequence` of the delivery." })
  sequence!: number;

  @Field(() => DateTimeScalar, { description: "When the attempt was made." })
  attemptedAt!: Date;

  @Field(() => WebhookResultType, { description: "The outcome." })
  result!: WebhookResultType;
}

/** Maps an outcome to its GraphQL type. */
export function toResult({ status, failure, durationMs }: DeliveryResult): WebhookResultType {
  return { delivered: failure === null, status, failure, durationMs };
}
