import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { App } from "../../src/app.ts";
import { hopOf } from "../../src/keys/auth/source-address.ts";
import type { Measured, Status } from "../../src/operations/status.service.ts";
import { statusPage } from "./status-page.ts";

const NONCE_BYTES = 16;
/** Stands for the nonce in the page that is kept: no text of a provider can have it, as it is new in each process. */
const NONCE = randomBytes(NONCE_BYTES).toString("hex");
/** How long a client or a proxy may keep the JSON, seconds. */
const MAX_AGE_SECONDS = 10;

/** The kept texts of a status. */
type Rendered = { readonly status: Status; readonly page: string; readonly json: string };

/**
 * Serves `/status` to browsers and `/status.json` to programs, without a credential; requests are counted as others
 * without one. Both are rendered once for each status, at most every 10 s.
 */
export async function statusPlugin(server: FastifyInstance, { app }: { app: App }): Promise<void> {
  let rendered: Rendered | undefined;
  const current = async (): Promise<Rendered> => {
    const status = await app.status.current();
    if (rendered?.status !== status)
      rendered = { status, page: statusPage(status, NONCE), json: JSON.stringify(toJson(status)) };
    return rendered;
  };
  server.addHook("onRequest", async ({ raw }) => {
    await app.requestAuthenticator.authenticate({ authorization: undefined, hop: hopOf(raw) });
  });
  server.get("/status", async (_request, reply) => {
    const { page } = await current();
    const nonce = randomBytes(NONCE_BYTES).toString("base64");
    return reply
      .headers({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-security-policy": `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      })
      .send(page.replace(NONCE, nonce));
  });
  server.get("/status.json", async (_request, reply) => {
    const { json } = await current();
    return reply
      .headers({
        "content-type": "application/json; charset=utf-8",
        "cache-control": `public, max-age=${MAX_AGE_SECONDS}`,
        "x-content-type-options": "nosniff",
      })
      .send(json);
  });
}

/** As REST spells it. Shares are from 0 to 1, and null without requests. */
function toJson({ asOf, state, models, unlistedModels, incidents }: Status) {
  return {
    as_of: asOf.toISOString(),
    state,
    models: models.map((model) => ({
      id: model.id,
      service_type: model.serviceType,
      state: model.state,
      ...toFigures(model),
      days: model.days.map(({ startsAt, uptime }) => ({
        date: startsAt.toISOString().slice(0, 10),
        uptime: uptime ?? null,
      })),
      providers: model.providers.map((provider) => ({
        ...{ address: provider.address, state: provider.state },
        ...toFigures(provider),
      })),
    })),
    unlisted_models: unlistedModels,
    incidents: incidents.map(({ provider, model, startedAt, endedAt, failedShare }) => ({
      ...{ provider, model },
      started_at: startedAt.toISOString(),
      ended_at: endedAt?.toISOString() ?? null,
      failed_share: failedShare ?? null,
    })),
  };
}

function toFigures({ uptime, latency }: Measured) {
  return {
    uptime: uptime ?? null,
    latency_ms: latency ? { p50: latency.p50Ms, p95: latency.p95Ms } : null,
  };
}
