import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { beforeAll, describe, expect, test } from "vitest";
import { type ErrorCode, FAILURES } from "../../src/kernel/errors.ts";
import { routes } from "../../src/rest/rest.plugin.ts";
import { CALLERS, newOwner, type Owner } from "../support/callers.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack("embedded");

/** What whoever is let in may hear of an empty body, or of a key of another account. */
const HEARD = [
  "invalid_body",
  "unsupported_media_type",
  "model_not_found",
  "async_job_not_found",
  "api_key_not_found",
  "management_key_not_found",
];
/** The types by which Anthropic's shape tells a status. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
};

describe.each(routes)("$method $url", ({ method, url, access, errors }) => {
  let owner: Owner;
  beforeAll(async () => {
    owner = await newOwner(stack().app);
  });

  test.each(CALLERS)("$name", async ({ secret, foreign, refusal }) => {
    const credential = await secret(stack().app, owner);
    const id = url.startsWith("/v1/api-keys/") ? owner.apiKeyId : owner.managementKeyId;
    const reply = await call({
      method,
      url: url.replace(":id", id),
      headers: {
        "content-type": "application/json",
        ...(credential && { authorization: `Bearer ${credential}` }),
      },
      ...(method === "GET" ? {} : { payload: "{}" }),
    });
    const code: string | undefined = reply.json().error?.code;
    const refused = refusal(access) as ErrorCode | "";
    if (errors === "anthropic") {
      const status = refused === "" ? 400 : FAILURES[refused].status;
      expect([reply.statusCode, reply.json().error.type]).toEqual([status, ANTHROPIC_TYPES[status]]);
    } else if (refused !== "") {
      expect(code).toBe(refused);
      expect(reply.statusCode).toBe(FAILURES[refused].status);
    } else if (foreign && url.includes(":id")) {
      expect([reply.statusCode, code]).toEqual([404, expect.stringMatching(/_key_not_found$/)]);
    } else if (code === undefined) expect(reply.statusCode).toBeLessThan(300);
    else expect(HEARD).toContain(code);
  });
});

test("the matrix has a row for every route, and is as large as it was meant to be", () => {
  expect(new Set(routes.map(({ method, url }) => `${method} ${url}`)).size).toBe(routes.length);
  for (const { method, url } of routes) expect(stack().server.hasRoute({ method, url }), url).toBe(true);
  expect(routes.length * CALLERS.length).toBeGreaterThanOrEqual(420);
});

test("every refusal has the shape of OpenAI's errors, a request id, and no hint of what is inside", async () => {
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
  expect([large.statusCode, large.json().error.code]).toEqual([413, "body_too_large"]);
});

function chat(payload: string | Buffer, type = "application/json"): Promise<LightMyRequestResponse> {
  return call({ method: "POST", url: "/v1/chat/completions", payload, headers: { "content-type": type } });
}

function call(options: InjectOptions): Promise<LightMyRequestResponse> {
  return stack().server.inject(options);
}
