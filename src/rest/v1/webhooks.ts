import { z } from "zod";
import { MAX_WEBHOOKS } from "../../webhooks/webhook.ts";
import { WEBHOOK_EVENTS } from "../../webhooks/webhook-events.ts";
import { MAX_URL_LENGTH } from "../../webhooks/webhook-settings.ts";
import { defineRoute, json, listOf } from "../route.ts";
import { keyName } from "./key-shape.ts";
import { viewWebhook, WEBHOOK } from "./webhooks/webhook-shape.ts";

const url = z.string().min(1).max(MAX_URL_LENGTH);
const events = z.array(z.enum(WEBHOOK_EVENTS)).min(1).max(WEBHOOK_EVENTS.length);
const threshold = z.string().regex(/^(0|[1-9]\d{0,59})$/, "must be neuron such as 1000000000000000000");

/** GET /v1/webhooks: the account's webhooks, oldest first; there are few. */
export const listWebhooks = defineRoute({
  method: "GET",
  url: "/v1/webhooks",
  summary: "List the webhooks",
  access: "webhook.read",
  answer: { json: z.strictObject({ ...listOf(WEBHOOK), max_webhooks: z.literal(MAX_WEBHOOKS) }) },
  async handle(app, { account }) {
    const webhooks = await app.webhooks.list(account);
    return json({
      object: "list",
      data: webhooks.map((webhook) => viewWebhook(app, webhook)),
      max_webhooks: MAX_WEBHOOKS,
    });
  },
});

/** POST /v1/webhooks: creates a webhook. `secret` is returned only here and by a rotation. */
export const createWebhook = defineRoute({
  method: "POST",
  url: "/v1/webhooks",
  summary: "Create a webhook",
  access: "webhook.manage",
  repetition: "secret",
  body: z.strictObject({ name: keyName, url, events, balance_threshold: threshold.nullish() }),
  answer: { status: 201, json: z.strictObject({ ...WEBHOOK.shape, secret: z.string() }) },
  async handle(app, { principal, body: { balance_threshold, ...input } }) {
    const balanceThreshold = balance_threshold == null ? null : BigInt(balance_threshold);
    const { webhook, secret } = await app.webhooks.create(principal, { ...input, balanceThreshold });
    return json({ ...viewWebhook(app, webhook), secret }, 201);
  },
});

/** GET /v1/webhooks/{id}: one webhook. */
export const getWebhook = defineRoute({
  method: "GET",
  url: "/v1/webhooks/:id",
  summary: "Retrieve a webhook",
  access: "webhook.read",
  answer: { json: WEBHOOK },
  async handle(app, { account, params: { id = "" } }) {
    return json(viewWebhook(app, await app.webhooks.get(account, id)));
  },
});

/**
 * PATCH /v1/webhooks/{id}: changes the sent fields; null removes the threshold and leaves any other field unchanged. `enabled: true` resumes deliveries,
 * after the last delivered event.
 */
export const updateWebhook = defineRoute({
  method: "PATCH",
  url: "/v1/webhooks/:id",
  summary: "Change, enable or disable a webhook",
  access: "webhook.manage",
  body: z.strictObject({
    name: keyName.nullish(),
    url: url.nullish(),
    events: events.nullish(),
    balance_threshold: threshold.nullish(),
    enabled: z.boolean().nullish(),
  }),
  answer: { json: WEBHOOK },
  async handle(app, { principal, params: { id = "" }, body }) {
    const { balance_threshold } = body;
    const webhook = await app.webhooks.update(principal, id, {
      name: body.name ?? undefined,
      url: body.url ?? undefined,
      events: body.events ?? undefined,
      ...(balance_threshold !== undefined && {
        balanceThreshold: balance_threshold === null ? null : BigInt(balance_threshold),
      }),
      isEnabled: body.enabled ?? undefined,
    });
    return json(viewWebhook(app, webhook));
  },
});

/** DELETE /v1/webhooks/{id}: deletes a webhook; a delivery in progress may still arrive. */
export const deleteWebhook = defineRoute({
  method: "DELETE",
  url: "/v1/webhooks/:id",
  summary: "Delete a webhook",
  access: "webhook.manage",
  answer: { json: z.strictObject({ webhook_id: z.uuid(), deleted: z.literal(true) }) },
  async handle(app, { principal, params: { id = "" } }) {
    await app.webhooks.delete(principal, id);
    return json({ webhook_id: id.toLowerCase(), deleted: true });
  },
});
