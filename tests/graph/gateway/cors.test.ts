// @module-tag medium
import { describe, expect, test } from "vitest";
import { useStack } from "../../support/stack.ts";

const PAGE = "https://app.example.com";
const stack = useStack({ CORS_ORIGINS: PAGE });
const PATHS = ["/graphql", "/graphql/stream", "/v1/models"];

const ask = (path: string, origin: string, init: RequestInit = {}) =>
  fetch(stack().origin + path, { ...init, headers: { ...(init.headers as Record<string, string>), origin } });

describe.each(PATHS)("%s", (path) => {
  test("a page of an allowed origin may send requests and read the answers", async () => {
    const preflight = await ask(path, PAGE, {
      method: "OPTIONS",
      headers: {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,content-type");
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
    const reply = await ask(path, PAGE, {
      ...(path !== "/v1/models" && {
        method: "POST",
        body: JSON.stringify({ query: "{ network { name } }" }),
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      }),
    });
    expect(reply.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(reply.headers.get("vary")?.toLowerCase()).toContain("origin");
    await reply.body?.cancel();
  });

  test.each([
    "https://evil.example",
    "https://app.example.com.evil.example",
    "https://evil-app.example.com",
    "http://app.example.com",
    "null",
    "http://localhost:5173",
  ])("a page of %s may not", async (origin) => {
    const preflight = await ask(path, origin, {
      method: "OPTIONS",
      headers: { "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
    const reply = await ask(path, origin);
    expect(reply.headers.get("access-control-allow-origin")).toBeNull();
    await reply.body?.cancel();
  });
});

test("files are readable for every page", async () => {
  const reply = await ask(`/file?root=0x${"0".repeat(64)}`, "https://elsewhere.example");
  expect(reply.status).toBe(404);
  expect(reply.headers.get("access-control-allow-origin")).toBe("*");
});
