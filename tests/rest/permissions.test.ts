// @module-tag medium
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { beforeAll, describe, expect, test } from "vitest";
import { type ErrorCode, FAILURES } from "../../src/kernel/errors.ts";
import { routes } from "../../src/rest/routes.ts";
import { type Access, CALLERS, CallerFixture, type Owner } from "../support/callers.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

/** The credentials that SPEC 5.3 permits, repeated by hand: a route without a row here fails. */
const ACCESS: Readonly<Record<string, Access>> = {
  "POST /v1/chat/completions": "inference.run",
  "POST /v1/responses": "inference.run",
  "POST /v1/completions": "inference.run",
  "POST /v1/messages": "inference.run",
  "POST /v1/messages/count_tokens": "inference.run",
  "POST /v1/images/generations": "inference.run",
  "POST /v1/images/edits": "inference.run",
  "POST /v1/audio/transcriptions": "inference.run",
  "POST /v1/audio/speech": "inference.run",
  "POST /v1/embeddings": "inference.run",
  "POST /v1/rerank": "inference.run",
  "POST /v1/async/images/generations": "job.submit",
  "POST /v1/async/images/edits": "job.submit",
  "GET /v1/async/jobs": "job.read",
  "GET /v1/async/jobs/:jobId": "job.content",
  "DELETE /v1/async/jobs/:jobId": "job.cancel",
  "POST /v1/files": "job.submit",
  "GET /v1/files": "job.read",
  "GET /v1/files/:id": "job.read",
  "GET /v1/files/:id/content": "job.content",
  "DELETE /v1/files/:id": "job.cancel",
  "POST /v1/batches": "job.submit",
  "GET /v1/batches": "job.read",
  "GET /v1/batches/:id": "job.read",
  "POST /v1/batches/:id/cancel": "job.cancel",
  "POST /v1/routing/preview": "routing.preview",
  "GET /v1/models": "public",
  "GET /v1/models/*": "public",
  "GET /v1/receipts/checkpoint": "public",
  "GET /v1/receipts/consistency": "public",
  "GET /v1/receipts/key": "public",
  "GET /v1/receipts/:requestId": "receipt.read",
  "GET /v1/providers": "public",
  "GET /v1/service-types": "public",
  "GET /v1/auth/nonce": "public",
  "POST /v1/auth/signin": "public",
  "POST /v1/auth/signout": "session.end",
  "GET /v1/auth/me": "session.read",
  "GET /v1/api-keys": "api-key.read",
  "POST /v1/api-keys": "api-key.create",
  "PATCH /v1/api-keys/:id": "api-key.update",
  "DELETE /v1/api-keys/:id": "api-key.revoke",
  "GET /v1/management-keys": "management-key.read",
  "POST /v1/management-keys": "management-key.create",
  "PATCH /v1/management-keys/:id": "management-key.update",
  "DELETE /v1/management-keys/:id": "management-key.revoke",
  "GET /v1/account": "account.read",
  "GET /v1/account/balance": "balance.read",
  "GET /v1/account/funds": "balance.read",
  "GET /v1/account/usage/stats": "usage.read",
  "GET /v1/account/usage/daily": "usage.read",
  "GET /v1/account/usage/tags": "usage.read",
  "GET /v1/account/usage/history": "request.read",
  "GET /v1/tag-budgets": "tag-budget.read",
  "POST /v1/tag-budgets": "tag-budget.manage",
  "GET /v1/tag-budgets/:id": "tag-budget.read",
  "PATCH /v1/tag-budgets/:id": "tag-budget.manage",
  "DELETE /v1/tag-budgets/:id": "tag-budget.manage",
  "GET /v1/generation": "generation.read",
  "GET /v1/key": "own-key.read",
  "GET /v1/credits": "credits.read",
  "GET /v1/webhooks": "webhook.read",
  "POST /v1/webhooks": "webhook.manage",
  "GET /v1/webhooks/:id": "webhook.read",
  "PATCH /v1/webhooks/:id": "webhook.manage",
  "DELETE /v1/webhooks/:id": "webhook.manage",
  "GET /v1/webhooks/:id/attempts": "webhook.read",
  "POST /v1/webhooks/:id/test": "webhook.manage",
  "POST /v1/webhooks/:id/rotate-secret": "webhook.manage",
  "POST /v1/webhooks/:id/replay": "webhook.manage",
  "GET /file": "public",
  "GET /file/info/:cid": "public",
  "GET /files/info": "public",
  "POST /file/segment": "public",
  "GET /file/:root": "public",
  "GET /file/:root/*": "public",
  "GET /node/status": "public",
  "POST /": "public",
};

/** Codes that a permitted caller may get for an empty body, or for a key of another account. */
const LATER_ERRORS = [
  "invalid_body",
  "unsupported_media_type",
  "model_not_found",
  "access_denied",
  "async_job_not_found",
  "receipt_not_found",
  "generation_not_found",
  "not_found",
  "invalid_parameter",
  "api_key_not_found",
  "management_key_not_found",
  "webhook_not_found",
  "file_not_found",
  "batch_not_found",
  "tag_budget_not_found",
];
/** Bodies of routes that find nothing for an empty one. */
const BODIES: Readonly<Record<string, string>> = {
  "/v1/webhooks/:id/replay": '{ "after": "none" }',
};

/** The types by which Anthropic's shape expresses a status. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
};

let callers: CallerFixture;
beforeAll(async () => {
  callers = await CallerFixture.open(stack().app);
});

describe.each(routes)("$method $url", ({ method, url, errors }) => {
  const access = ACCESS[`${method} ${url}`] ?? "public";
  let owner: Owner;
  beforeAll(async () => {
    owner = await callers.owner();
  });

  test.each(CALLERS)("$name", async (caller) => {
    const { foreign, refusal } = caller;
    const credential = await callers.secretOf(caller);
    const id = url.startsWith("/v1/api-keys/") ? owner.apiKeyId : owner.managementKeyId;
    const reply = await call({
      method,
      url: url.replace(":id", id),
      headers: {
        "content-type": "application/json",
        ...(credential && { authorization: `Bearer ${credential}` }),
      },
      ...(method === "GET" ? {} : { payload: BODIES[url] ?? "{}" }),
    });
    const isJson = String(reply.headers["content-type"]).startsWith("application/json");
    const code: string | undefined = isJson ? reply.json().error?.code : undefined;
    const refused = refusal(access) as ErrorCode | "";
    if (errors === "anthropic") {
      const status = refused === "" ? 400 : FAILURES[refused].status;
      expect([reply.statusCode, reply.json().error.type]).toEqual([status, ANTHROPIC_TYPES[status]]);
    } else if (errors === "storage") {
      // Every permitted caller learns what is missing, in the envelope.
      expect([refused, url === "/node/status" ? 0 : 1]).toEqual(["", reply.json().code]);
    } else if (errors === "rpc") {
      // An empty object is not a call, which every caller is answered with status 200.
      expect([refused, reply.statusCode, code]).toEqual(["", 200, -32_600]);
    } else if (refused !== "") {
      expect(code).toBe(refused);
      expect(reply.statusCode).toBe(FAILURES[refused].status);
    } else if (foreign && url.includes(":id")) {
      expect([reply.statusCode, code]).toEqual([404, expect.stringMatching(/_not_found$/)]);
    } else if (code === undefined) expect(reply.statusCode).toBeLessThan(300);
    else expect(LATER_ERRORS).toContain(code);
  });
});

test("every route has its row, and every row its route", () => {
  const found = routes.map(({ method, url, access }) => [`${method} ${url}`, access]);
  expect(Object.fromEntries(found)).toEqual(ACCESS);
  expect(found.length * CALLERS.length).toBeGreaterThanOrEqual(420);
});

test("every refusal has the shape of OpenAI's errors, a request id, and no internal detail", async () => {
  const reply = await chat("{}");
  expect(reply.statusCode).toBe(401);
  expect(reply.json()).toEqual({
    error: {
      message: expect.any(String),
      type: "invalid_request_error",
      code: "missing_authorization",
      param: null,
    },
    request_id: reply.headers["x-request-id"],
  });
  const typed = await chat("a=1", "text/plain");
  expect([typed.statusCode, typed.json().error.code]).toEqual([415, "unsupported_media_type"]);
  const large = await chat(Buffer.alloc(2_097_153, 32));
  // A large body is not read, however large it is, before its sender is known.
  expect([large.statusCode, large.json().error.code]).toEqual([401, "missing_authorization"]);
});

function chat(payload: string | Buffer, type = "application/json"): Promise<LightMyRequestResponse> {
  return call({ method: "POST", url: "/v1/chat/completions", payload, headers: { "content-type": type } });
}

function call(options: InjectOptions): Promise<LightMyRequestResponse> {
  return stack().server.inject(options);
}
