import { z } from "zod";
import { defineRoute, json, listOf } from "../../route.ts";
import { ATTEMPT, RESULT, viewAttempt, viewResult, viewWebhook, WEBHOOK } from "./webhook-shape.ts";

/** GET /v1/webhooks/{id}/attempts: the last 50 attempts to deliver, newest first. */
export const listWebhookAttempts = defineRoute({
  method: "GET",
  url: "/v1/webhooks/:id/attempts",
  summary: "List the last attempts to deliver to a webhook",
  access: "webhook.read",
  answer: { json: z.strictObject(listOf(ATTEMPT)) },
  async handle(app, { account, params: { id = "" } }) {
    const attempts = await app.webhooks.attempts(account, id);
    return json({ object: "list", data: attempts.map(viewAttempt) });
  },
});

/** POST /v1/webhooks/{id}/test: delivers a `webhook.test` event now, and answers how the receiver did. */
export const testWebhook = defineRoute({
  method: "POST",
  url: "/v1/webhooks/:id/test",
  summary: "Deliver a test event to a webhook",
  access: "webhook.manage",
  body: z.strictObject({}).optional(),
  answer: { json: z.strictObject({ delivered: z.boolean(), ...RESULT }) },
  async handle(app, { principal, params: { id = "" }, signal }) {
    const result = await app.webhooks.test(principal, id, signal);
    return json({ delivered: result.failure === null, ...viewResult(result) });
  },
});

/** POST /v1/webhooks/{id}/rotate-secret: a new secret; for 24 h deliveries are signed with both. */
export const rotateWebhookSecret = defineRoute({
  method: "POST",
  url: "/v1/webhooks/:id/rotate-secret",
  summary: "Replace the signing secret of a webhook",
  access: "webhook.manage",
  repetition: "secret",
  body: z.strictObject({}).optional(),
  answer: { json: z.strictObject({ ...WEBHOOK.shape, secret: z.string() }) },
  async handle(app, { principal, params: { id = "" } }) {
    const { webhook, secret } = await app.webhooks.rotateSecret(principal, id);
    return json({ ...viewWebhook(app, webhook), secret });
  },
});

/** POST /v1/webhooks/{id}/replay: delivers again what follows a cursor of at most 24 h ago. */
export const replayWebhook = defineRoute({
  method: "POST",
  url: "/v1/webhooks/:id/replay",
  summary: "Deliver events to a webhook again, from a cursor on",
  access: "webhook.manage",
  body: z.strictObject({ after: z.string().min(1).max(256) }),
  answer: { json: WEBHOOK },
  async handle(app, { principal, params: { id = "" }, body: { after } }) {
    return json(viewWebhook(app, await app.webhooks.replay(principal, id, after)));
  },
});
