import "./schema/reflect.ts";
import type { DisabledReason } from "../../src/webhooks/webhook.ts";
import { defineEnum } from "./schema/enumeration.ts";

/** Why a webhook is disabled. */
export const WebhookDisabledReason = defineEnum<DisabledReason>(
  "WebhookDisabledReason",
  "Who or what disabled a webhook.",
  {
    owner: "Its owner disabled it.",
    failing: "Its receiver failed for 24 hours.",
    gone: "Its receiver answered 410 Gone.",
    expired: "An event expired before it was delivered.",
  },
);
