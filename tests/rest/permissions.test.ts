import { describe, expect, test } from "vitest";
import { type Access, SCOPES } from "../../src/keys/principal.ts";
import { newSecret } from "../../src/keys/secret.ts";
import { routes } from "../../src/rest/rest.plugin.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack("embedded");

/** Every subset of the four scopes. */
const SCOPE_SETS = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_, at) => bits & (1 << at)),
);

type Caller = {
  readonly name: string;
  readonly secret: string | undefined;
  readonly refused: (access: Access) => string;
};

const mayNot = (access: Access, allowed: boolean, code: string) =>
  access === "public" || allowed ? "" : code;

async function callers(): Promise<readonly Caller[]> {
  const { apiKeys, managementKeys, database } = stack().app;
  const { account, secret } = await seedAccount(database, 1_000n);
  const revoked = await apiKeys.create(account, "revoked");
  await apiKeys.revoke(account, revoked.key.id);
  const management = SCOPE_SETS.map(async (scopes) => ({
    name: `mk- with ${scopes.join(" ") || "no scope"}`,
    secret: (await managementKeys.create(account, `test ${scopes.join(" ")}`, scopes)).secret,
    refused: (access: Access) => mayNot(access, scopes.includes(access as never), "insufficient_scope"),
  }));
  return [
    {
      name: "nobody",
      secret: undefined,
      refused: (access) => mayNot(access, false, "missing_authorization"),
    },
    {
      name: "a malformed key",
      secret: "sk-1",
      refused: (access) => mayNot(access, false, "invalid_api_key"),
    },
    {
      name: "an unknown key",
      secret: newSecret("mk-"),
      refused: (access) => mayNot(access, false, "invalid_api_key"),
    },
    {
      name: "a revoked key",
      secret: revoked.secret,
      refused: (access) => mayNot(access, false, "api_key_revoked"),
    },
    {
      name: "an sk- key",
      secret,
      refused: (access) => mayNot(access, access === "inference", "insufficient_scope"),
    },
    ...(await Promise.all(management)),
  ];
}

describe.each(routes)("$method $url", ({ method, url, access }) => {
  test("lets in whom its access names, and refuses everyone else by name", async () => {
    for (const { name, secret, refused } of await callers()) {
      const reply = await stack().server.inject({
        method,
        url,
        headers: { "content-type": "application/json", ...(secret && { authorization: `Bearer ${secret}` }) },
        ...(method === "GET" ? {} : { payload: "{}" }),
      });
      const code = refused(access);
      const { error } = reply.json();
      // Whoever is let in with an empty body hears about the body.
      if (code === "") expect([200, 400], name).toContain(reply.statusCode);
      else expect(error?.code, name).toBe(code);
      if (code === "") expect(error?.code ?? "invalid_body", name).toBe("invalid_body");
    }
  });
});

test("every refusal has the shape of OpenAI's errors, a request id, and no hint of what is inside", async () => {
  const reply = await stack().server.inject({
    method: "POST",
    url: "/v1/chat/completions",
    payload: "{}",
    headers: { "content-type": "application/json" },
  });
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
  const typed = await stack().server.inject({
    method: "POST",
    url: "/v1/chat/completions",
    payload: "a=1",
    headers: { "content-type": "text/plain" },
  });
  expect([typed.statusCode, typed.json().error.code]).toEqual([415, "unsupported_media_type"]);
  const large = await stack().server.inject({
    method: "POST",
    url: "/v1/chat/completions",
    payload: Buffer.alloc(2_097_153, 32),
    headers: { "content-type": "application/json" },
  });
  expect([large.statusCode, large.json().error.code]).toEqual([413, "body_too_large"]);
});
