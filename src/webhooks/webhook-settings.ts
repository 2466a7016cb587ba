import { faultOf } from "../kernel/address-guard.ts";
import { AppError } from "../kernel/errors.ts";
import { refusalFor } from "../keys/auth/permissions.ts";
import type { Principal } from "../keys/auth/principal.ts";
import { readKeyName } from "../keys/shared/key-name.ts";
import type { Webhook } from "./webhook.ts";
import { readActionOf, topicsOf, WEBHOOK_EVENTS, type WebhookEvent } from "./webhook-events.ts";

/** A webhook to create. */
export type NewWebhook = {
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** Neuron; required with `balance.low`. */
  readonly balanceThreshold?: bigint | null | undefined;
};

/** A change of a webhook; undefined fields are left unchanged. `isEnabled` resumes or stops deliveries. */
export type WebhookChange = { readonly [Field in keyof NewWebhook]?: NewWebhook[Field] | undefined } & {
  readonly isEnabled?: boolean | undefined;
};

/** The most characters of a webhook's URL. */
export const MAX_URL_LENGTH = 2_048;

/**
 * The settings of a webhook, as they are stored. Throws `invalid_parameter` for an invalid one, and `insufficient_scope`
 * for an event that the caller may not read. `allowsPrivate` allows private addresses and http.
 */
export function checkSettings(
  principal: Principal,
  input: NewWebhook,
  { allowsPrivate }: { readonly allowsPrivate: boolean },
) {
  const { url, balanceThreshold = null } = input;
  const name = readKeyName(input.name);
  const events = WEBHOOK_EVENTS.filter((event) => input.events.includes(event));
  if (events.length === 0) throw invalid("events", "Choose at least one event.");
  permitEvents(principal, { events });
  if (events.includes("balance.low") && balanceThreshold === null)
    throw invalid("balance_threshold", "The event balance.low requires a threshold.");
  if (url.length > MAX_URL_LENGTH) throw invalid("url", `A URL has at most ${MAX_URL_LENGTH} characters.`);
  const fault = faultOf(url, { allowsPrivate, allowsQuery: true });
  if (fault !== undefined) throw invalid("url", `This URL cannot receive events: ${fault}.`);
  return { name, url: new URL(url).href, events, topics: topicsOf(events), balanceThreshold };
}

/** Throws `insufficient_scope` unless the caller may read all of these events. */
export function permitEvents(principal: Principal, { events }: Pick<Webhook, "events">): void {
  for (const event of events) {
    const action = readActionOf(event);
    const refusal = action === null ? undefined : refusalFor(principal, action);
    if (refusal === undefined) continue;
    throw new AppError("insufficient_scope", `This credential may not subscribe to ${event}. ${refusal}`, {
      param: "events",
    });
  }
}

/** An invalid setting, by the name of its field. */
export function invalid(param: string, message: string): AppError {
  return new AppError("invalid_parameter", message, { param });
}

/** The fields that are set. */
export function withoutUndefined<T extends object>(input: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
