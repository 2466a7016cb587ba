import type { WebhookFault } from "../events/topics.ts";
import type { WebhookEvent } from "./webhook-events.ts";

/** Where events of an account are delivered, as its owner sees it. */
export type Webhook = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** Below which `balance.low` is sent, neuron. */
  readonly balanceThreshold: bigint | null;
  readonly status: WebhookStatus;
  readonly disabledAt: Date | null;
  readonly disabledReason: DisabledReason | null;
  readonly createdAt: Date;
  /** The number of the last delivered event; 0 before the first. */
  readonly sequence: number;
  /** The position up to which events were delivered, or did not concern the webhook. */
  readonly position: bigint;
  /** How many attempts in a row failed, since when, and when the next one is made. */
  readonly failures: number;
  readonly firstFailedAt: Date | null;
  readonly nextAttemptAt: Date | null;
  /** Until when deliveries are also signed with the previous secret; null or past if they are not. */
  readonly previousSecretUntil: Date | null;
};

export const WEBHOOK_STATUSES = ["active", "failing", "disabled"] as const;
/** `failing`: its last attempt failed and will be repeated. */
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

export const DISABLED_REASONS = [
  "owner",
  "failing",
  "gone",
  "expired",
] as const satisfies readonly DisabledReason[];
/** Who or what disabled a webhook: its owner, or a fault of its receiver. */
export type DisabledReason = WebhookFault | "owner";

/** Why an attempt failed. */
export const DELIVERY_FAILURES = [
  "address_not_allowed",
  "name_not_resolved",
  "unreachable",
  "tls_failed",
  "malformed_answer",
  "timed_out",
  "redirected",
  "refused",
] as const;
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

/** The outcome of an attempt. `status` is the HTTP status, if there was an answer. */
export type DeliveryResult = {
  readonly status: number | null;
  /** Null if the receiver answered with a 2xx status. */
  readonly failure: DeliveryFailure | null;
  readonly durationMs: number;
};

/** A recorded attempt to deliver an event. */
export type WebhookAttempt = DeliveryResult & {
  readonly webhookId: string;
  /** Counts the attempts of the webhook from 1. */
  readonly number: number;
  readonly eventId: string;
  readonly event: WebhookEvent;
  readonly sequence: number;
  readonly at: Date;
};

/** How many attempts of a webhook are kept. */
export const KEPT_ATTEMPTS = 50;

/** How many webhooks an account may have. */
export const MAX_WEBHOOKS = 10;
