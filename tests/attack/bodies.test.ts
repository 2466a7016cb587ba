// @module-tag large
import { beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { isPermitted } from "../../src/keys/auth/permissions.ts";
import { hashSecret, newSecret } from "../../src/keys/auth/secret.ts";
import { insertSession } from "../../src/keys/sessions/session.store.ts";
import type { Route } from "../../src/rest/route.ts";
import { routes } from "../../src/rest/routes.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { type WorstBody, worstConversations, worstForms, worstJson } from "../support/attack/worst-bodies.ts";
import { WORST_TOOLS } from "../support/attack/worst-tools.ts";
import { rawPost } from "../support/clients/raw-http.ts";
import { useRouter } from "../support/router.ts";

/** 50 ms on an otherwise idle machine; the client and the provider take their part of these turns as well. */
const MAX_TURN_MS = 250;
/** Measuring takes a tenth of it, parsing would take twice as long. */
const MAX_NAMES_MS = 30;
const GRAPH_BODY_BYTES = 524_288;
const OFFERS = {
  talk: {
    pricing: { prompt: "2", completion: "3" },
    supported_formats: ["openai", "anthropic", "completions"],
  },
  native: { pricing: { prompt: "2", completion: "3" }, supported_formats: ["responses"] },
  paint: { pricing: { image: "2" }, service_type: "text-to-image" },
  edit: { pricing: { image: "2" }, service_type: "image-editing" },
  hear: { pricing: { second: "2" }, service_type: "speech-to-text" },
  embed: { pricing: { prompt: "2" }, service_type: "embedding" },
  voice: { pricing: { character: "2" }, service_type: "text-to-speech" },
  rank: { pricing: { prompt: "2" }, service_type: "rerank" },
} as const;

const router = await useRouter({
  models: [],
  count: 1,
  more: () => Object.entries(OFFERS).map(([id, offer]) => ({ id, ...offer })),
});

const said = [{ role: "user", content: "a" }];
const chat = { model: "talk", max_tokens: 5, messages: said };
/**
 * Per route, what makes its body valid except for its worst part. A route that reads a body and has no row
 * fails.
 */
const VALID: Readonly<Record<string, object>> = {
  "POST /v1/chat/completions": chat,
  "POST /v1/responses": { model: "talk", max_output_tokens: 5, input: "a" },
  "POST /v1/completions": { model: "talk", max_tokens: 5, prompt: "a" },
  "POST /v1/messages": chat,
  "POST /v1/messages/count_tokens": chat,
  "POST /v1/images/generations": { model: "paint", prompt: "a" },
  "POST /v1/async/images/generations": { model: "paint", prompt: "a" },
  "POST /v1/images/edits": {},
  "POST /v1/async/images/edits": {},
  "POST /v1/audio/transcriptions": { model: "hear", file_base64: "AAAA" },
  "POST /v1/audio/speech": { model: "voice", input: "a", voice: "a" },
  "POST /v1/embeddings": { model: "embed", input: "a" },
  "POST /v1/rerank": { model: "rank", query: "a", documents: ["a"] },
  "POST /v1/routing/preview": { model: "talk" },
  "POST /v1/auth/signin": {},
  "POST /v1/auth/signout": {},
  "POST /v1/api-keys": {},
  "PATCH /v1/api-keys/:id": {},
  "POST /v1/management-keys": {},
  "PATCH /v1/management-keys/:id": {},
  "POST /v1/files": {},
  "POST /v1/batches": {
    input_file_id: "file-none",
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  },
  "POST /v1/tag-budgets": {},
  "PATCH /v1/tag-budgets/:id": {},
  "POST /v1/webhooks": {},
  "PATCH /v1/webhooks/:id": {},
  "POST /v1/webhooks/:id/test": {},
  "POST /v1/webhooks/:id/rotate-secret": {},
  "POST /v1/webhooks/:id/replay": {},
  "POST /file/segment": {},
  "POST /": { jsonrpc: "2.0", id: 1, method: "zgs_getStatus" },
};

/** A longer form, which is read while it arrives, is only longer. */
const MAX_FORM_BYTES = 32 * 1_048_576;

const readers = routes.filter(({ bodies }) => Object.keys(bodies).length > 0);
const credentials = new Map<string, string>();
beforeAll(async () => {
  const { app } = router();
  const seeded = await router().seed(10n ** 18n);
  const session = newSecret("ws-");
  await insertSession(
    app.database,
    { id: newId(), account: seeded.account, tokenHash: hashSecret(session) },
    3_600,
  );
  credentials.set("inference", seeded.secret).set("session", session);
});

describe.each(readers)("a body of $method $url", (route) => {
  test("never blocks the event loop, whatever it contains", async () => {
    await requireShortTurns(
      route.method,
      route.url.replace(":id", newId()),
      bodiesOf(route),
      credentialFor(route),
    );
  });
});

test("a GraphQL body never blocks the event loop, whatever it contains", async () => {
  const bodies = worstJson(GRAPH_BODY_BYTES, { query: "{ __typename }" });
  await requireShortTurns("POST", "/graphql", bodies, credentials.get("session"));
});

test.each([
  ["REST", "/v1/chat/completions", (list: string) => `{"model":"none","messages":[],"a":${list}}`],
  ["GraphQL", "/graphql", (list: string) => `{"query":"{ __typename }","variables":{"a":${list}}}`],
])("a small %s body of 18,000 member names is refused before it is parsed", async (_api, path, bodyOf) => {
  let bodies = 0;
  let status = 0;
  const turnMs = await repeatedTurnMs(MAX_NAMES_MS, async () => {
    const name = `${newId().slice(0, 8)}_${bodies++}_`;
    const list = Array.from({ length: 18_000 }, (_, n) => `{"${name}${n}":1}`).join(",");
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${credentials.get("inference")}`,
    };
    const body = Buffer.from(bodyOf(`[${list}]`));
    status = await rawPost(router().origin, path, { method: "POST", body, headers });
  });
  expect(status).toBe(400);
  expect(turnMs).toBeLessThan(MAX_NAMES_MS);
});

test.each(["talk", "native"])("tools of a response by %s never block the event loop", async (model) => {
  const bodies = Object.entries(WORST_TOOLS).map(([what, fields]) => ({
    ...{ what, contentType: "application/json" },
    body: Buffer.from(JSON.stringify({ model, max_output_tokens: 5, input: "a", ...fields })),
  }));
  await requireShortTurns("POST", "/v1/responses", bodies, credentials.get("inference"));
});

function bodiesOf(route: Route): readonly WorstBody[] {
  const valid = VALID[`${route.method} ${route.url}`];
  if (!valid) throw new Error(`${route.method} ${route.url} reads a body and has no row here`);
  const isForm = "multipart/form-data" in route.bodies;
  const isJson = "application/json" in route.bodies;
  return [
    ...(isJson ? worstJson(route.bodyLimitBytes, valid) : []),
    ...("messages" in valid ? worstConversations(route.bodyLimitBytes, valid) : []),
    ...(isForm ? worstForms(Math.min(route.bodyLimitBytes, MAX_FORM_BYTES)) : []),
    ...("file_base64" in valid ? [longAudio(route.bodyLimitBytes)] : []),
  ];
}

function longAudio(sizeBytes: number): WorstBody {
  const body = JSON.stringify({ model: "hear", file_base64: "QUJD".repeat((sizeBytes - 70_000) / 4) });
  return { what: "an audio file", contentType: "application/json", body: Buffer.from(body) };
}

const API_KEY = { kind: "api-key", account: "", keyId: "" } as const;

function credentialFor({ access }: Route): string | undefined {
  if (access === "public") return undefined;
  return credentials.get(isPermitted(API_KEY, access) ? "inference" : "session");
}

async function requireShortTurns(
  method: string,
  path: string,
  bodies: readonly WorstBody[],
  secret: string | undefined,
): Promise<void> {
  const slow: string[] = [];
  for (const { what, contentType, body } of bodies) {
    let status = 0;
    const headersOf = () => ({
      "content-type": contentType,
      "idempotency-key": newId(),
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    });
    const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
      status = await rawPost(router().origin, path, { method, body, headers: headersOf() });
    });
    expect(status, what).not.toBe(0);
    expect([401, 403, 500], what).not.toContain(status);
    if (turnMs > MAX_TURN_MS) slow.push(`${what}: ${Math.round(turnMs)} ms`);
  }
  expect(slow).toEqual([]);
}
