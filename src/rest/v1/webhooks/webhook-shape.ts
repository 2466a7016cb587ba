import { z } from "zod";
import type { App } from "../../../app.ts";
import {
  DELIVERY_FAILURES,
  type DeliveryResult,
  DISABLED_REASONS,
  WEBHOOK_STATUSES,
  type Webhook,
  type WebhookAttempt,
} from "../../../webhooks/webhook.ts";
import { WEBHOOK_EVENTS } from "../../../webhooks/webhook-events.ts";
import { count, neuron, timestamp } from "../../wire.ts";

/** A webhook in answers. */
export const WEBHOOK = z
  .strictObject({
    webhook_id: z.uuid(),
    name: z.string(),
    url: z.string(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    balance_threshold: neuron.nullable(),
    status: z.enum(WEBHOOK_STATUSES),
    disabled_reason: z.enum(DISABLED_REASONS).nullable(),
    disabled_at: timestamp.nullable(),
    created_at: timestamp,
    sequence: count.meta({ description: "The number of the last delivered event; 0 before the first." }),
    cursor: z.string().meta({
      description:
        "Cursor of the last event that was processed: delivered, or skipped because it does not concern the webhook.",
    }),
    consecutive_failures: count,
    first_failed_at: timestamp.nullable(),
    next_attempt_at: timestamp.nullable(),
    previous_secret_until: timestamp
      .nullable()
      .meta({ description: "Deliveries are also signed with the previous secret until this time." }),
  })
  .meta({ id: "Webhook" });

/** The outcome of one attempt. */
export const RESULT = {
  status: z
    .int()
    .nullable()
    .meta({ description: "The HTTP status of the receiver's answer; null if there was none." }),
  failure: z.enum(DELIVERY_FAILURES).nullable().meta({ description: "Null if the event was delivered." }),
  duration_ms: count,
};

/** A recorded attempt. */
export const ATTEMPT = z
  .strictObject({
    number: count,
    event_id: z.string().meta({ description: "The header `webhook-id` of the delivery." }),
    event: z.enum(WEBHOOK_EVENTS),
    sequence: count,
    attempted_at: timestamp,
    ...RESULT,
  })
  .meta({ id: "WebhookAttempt" });

/** A webhook as `WEBHOOK` has it. */
export function viewWebhook({ webhooks }: App, webhook: Webhook) {
  return {
    webhook_id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    events: webhook.events,
    balance_threshold: webhook.balanceThreshold?.toString() ?? null,
    status: webhook.status,
    disabled_reason: webhook.disabledReason,
    disabled_at: webhook.disabledAt?.toISOString() ?? null,
    created_at: webhook.createdAt.toISOString(),
    sequence: webhook.sequence,
    cursor: webhooks.cursorOf(webhook),
    consecutive_failures: webhook.failures,
    first_failed_at: webhook.firstFailedAt?.toISOString() ?? null,
    next_attempt_at: webhook.nextAttemptAt?.toISOString() ?? null,
    previous_secret_until: webhook.previousSecretUntil?.toISOString() ?? null,
  };
}

/** An outcome as `RESULT` has it. */
export function viewResult({ status, failure, durationMs }: DeliveryResult) {
  return { status, failure, duration_ms: durationMs };
}

/** An attempt as `ATTEMPT` has it. */
export function viewAttempt(attempt: WebhookAttempt) {
  const { number, eventId, event, sequence, at } = attempt;
  const attempted_at = at.toISOString();
  return { number, event_id: eventId, event, sequence, attempted_at, ...viewResult(attempt) };
}
