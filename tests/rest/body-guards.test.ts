// @module-tag large
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { routes } from "../../src/rest/routes.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const PROMPT_MIB = 1;
const stack = useStack({ MAX_PROMPT_MIB: String(PROMPT_MIB) });

/** Writes raw text, and reads until the answer is complete or the connection ends. */
function raw(
  head: readonly string[],
  send: (answered: string, write: (text: string) => void) => void = () => {},
) {
  const { hostname, port } = new URL(stack().origin);
  return new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      send(text, (more) => void socket.write(more));
      if (isWhole(text)) socket.destroy();
    });
    socket.once("close", () => resolve(text));
    socket.once("error", reject);
    socket.write(`${[...head, "host: a"].join("\r\n")}\r\n\r\n`);
  });
}

function isWhole(text: string): boolean {
  const answer = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
  const [head, body] = answer.split(/\r\n\r\n(.*)/s);
  const length = /content-length: (\d+)/i.exec(head ?? "")?.[1];
  return body !== undefined && length !== undefined && Buffer.byteLength(body) >= Number(length);
}

const paths = [
  ...routes.map(({ method, url }) => ({ method, path: url.replace(/:[A-Za-z]+|\*/g, "x") })),
  { method: "POST", path: "/graphql" },
  { method: "GET", path: "/graphql" },
  { method: "POST", path: "/graphql/stream" },
  { method: "PUT", path: "/graphql/stream" },
  { method: "DELETE", path: "/graphql/stream" },
  { method: "POST", path: "/dashboard/session" },
  { method: "POST", path: "/nothing" },
  { method: "GET", path: "/healthz" },
];

describe.each(["gzip", "br", "deflate", "GZIP, identity"])("a body encoded by %s", (encoding) => {
  test("is refused with 415 on every route", async () => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    const length = gzipSync("{}").length;
    for (const { method, path } of paths) {
      const answer = await raw([
        `${method} ${path} HTTP/1.1`,
        `authorization: Bearer ${secret}`,
        "content-type: application/json",
        `content-encoding: ${encoding}`,
        `content-length: ${length}`,
      ]);
      const status = Number(answer.slice(9, 12));
      // The original storage gateway answers failures with 200 or its own status.
      const isTold = status === 415 || answer.includes("without a Content-Encoding");
      expect([method, path, isTold]).toEqual([method, path, true]);
    }
  });
});

describe("half of a surrogate pair is refused, and nothing is sent to a provider", () => {
  const jsonRoutes = routes.filter(
    ({ method, url, bodies }) => method === "POST" && url.startsWith("/v1/") && "application/json" in bodies,
  );

  test.each(jsonRoutes.map(({ url }) => url))("at %s", async (url) => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    for (const [body, named] of [
      ['{"model":"none","messages":[{"role":"user","content":"\\ud83d"}]}', "messages.0.content"],
      [`{"input":"${"a".repeat(3 * 1_048_576)}\\ude00"}`, "The body"],
    ] as const) {
      const reply = await fetch(`${stack().origin}${url}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        body,
      });
      // Other limits and permissions come first.
      if ([401, 403, 413].includes(reply.status)) continue;
      const { error } = (await reply.json()) as { readonly error: { readonly message: string } };
      expect([reply.status, error.message]).toEqual([400, expect.stringContaining(named)]);
      expect(error.message).toContain("half of a surrogate pair");
    }
  });
});

test("identity is not an encoding", async () => {
  const reply = await fetch(`${stack().origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-encoding": "identity" },
    body: '{"query":"{ __typename }"}',
  });
  expect([reply.status, await reply.json()]).toEqual([200, { data: { __typename: "Query" } }]);
});

test.each(["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"])(
  "a prompt at %s may be as long as the operator allows, and no longer",
  async (path) => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    const statusOf = async (bytes: number) => {
      const head = '{"model":"none","max_tokens":1,"messages":[{"role":"user","content":"';
      const body = `${head}${"a".repeat(bytes - head.length - 4)}"}]}`;
      const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
      return (await fetch(`${stack().origin}${path}`, { method: "POST", headers, body })).status;
    };
    const limit = PROMPT_MIB * 1_048_576;
    expect([await statusOf(limit), await statusOf(limit + 1)]).toEqual([404, 413]);
  },
);

describe("a client that waits for 100 (Continue)", () => {
  const BODY = '{"query":"{ __typename }"}';
  const head = (path: string, length: number, authorization?: string) => [
    `POST ${path} HTTP/1.1`,
    "content-type: application/json",
    "expect: 100-continue",
    `content-length: ${length}`,
    ...(authorization ? [`authorization: Bearer ${authorization}`] : []),
  ];
  const large = ["/v1/chat/completions", "/v1/images/generations", "/v1/api-keys", "/v1/messages"];

  test.each([...large, "/graphql", "/graphql/stream"])(
    "at %s gets 401 and no 100 with a wrong credential",
    async (path) => {
      const answer = await raw(head(path, 1_000, "sk-wrong"));
      expect(answer).toMatch(/^HTTP\/1\.1 401 /);
      expect(answer.toLowerCase()).toContain("connection: close");
    },
  );

  test.each(large)("at %s gets 401 and no 100 without a credential", async (path) => {
    expect(await raw(head(path, 1_000))).toMatch(/^HTTP\/1\.1 401 /);
  });

  test.each(["/v1/chat/completions", "/graphql", "/graphql/stream", "/"])(
    "at %s gets 413 and no 100 for a body above the limit",
    async (path) => {
      const { secret } = await seedAccount(stack().app.database, 1n);
      const answer = await raw(head(path, 500 * 1_048_576, secret));
      expect(answer).toMatch(/^HTTP\/1\.1 413 /);
      expect(answer.toLowerCase()).toContain("connection: close");
    },
  );

  test.each([
    ["/v1/chat/completions", "text/plain"],
    ["/v1/chat/completions", "multipart/form-data; boundary=b"],
    ["/v1/files", "application/json"],
    ["/v1/files", "text/plain"],
  ])("at %s gets 415 and no 100 for %s, which is not accepted there", async (path, type) => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    const lines = head(path, 1_000, secret).map((line) => line.replace("application/json", type));
    expect(await raw(lines)).toMatch(/^HTTP\/1\.1 415 /);
  });

  test("gets 100 once when its body may be sent, and then the answer", async () => {
    let sent = false;
    const answer = await raw(head("/graphql", BODY.length), (text, write) => {
      if (!sent && text.includes("100 Continue\r\n\r\n")) {
        sent = true;
        write(BODY);
      }
    });
    expect(answer.match(/100 Continue/g)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    expect(answer).toContain('{"data":{"__typename":"Query"}}');
    expect(answer.toLowerCase()).not.toContain("connection: close");
  });
});
