// @module-tag large
import { request as send } from "node:http";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const QUERY = JSON.stringify({ query: "{ viewer { kind } }" });
const TYPE = ["content-type", "application/json"];

let secret = "";
beforeAll(async () => {
  ({ secret } = await seedAccount(stack().app.database, 10n ** 18n));
});

type Answer = { readonly status: number | undefined; readonly text: string };

/** Sends headers as they are, also several of one name. */
function post(path: string, headers: readonly string[], body: string | Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(path, stack().origin);
    const all = ["host", url.host, "content-length", String(Buffer.byteLength(body)), ...headers];
    const request = send(url, { method: "POST", headers: all }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => void chunks.push(chunk));
      reply.once("end", () => resolve({ status: reply.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    request.once("error", reject);
    request.end(body);
  });
}

describe("a header or body that GraphQL refuses has the same name and text as in REST", () => {
  test.each([
    ["Content-Encoding", 415, ["content-encoding", "gzip"], gzipSync(QUERY)],
    ["Host", 400, ["host", "another.example"], QUERY],
    ["body", 400, [], `\ufeff${QUERY}`],
  ] as const)("%s", async (param, status, headers, body) => {
    const all = [...TYPE, "authorization", `Bearer ${secret}`, ...headers];
    const onRest = await post("/v1/chat/completions", all, body);
    const { message } = (JSON.parse(onRest.text) as { error: { message: string } }).error;
    expect(message).toContain(param);
    for (const path of ["/graphql", "/graphql/stream"]) {
      const answer = await post(path, all, body);
      expect(answer.status, path).toBe(status);
      const { errors } = JSON.parse(answer.text) as { errors: object[] };
      expect(errors, path).toEqual([{ message, extensions: expect.objectContaining({ param }) }]);
    }
  });

  test("a form at /graphql names its Content-Type", async () => {
    const answer = await post("/graphql", ["content-type", "multipart/form-data; boundary=a"], "--a--");
    expect(JSON.parse(answer.text)).toMatchObject({
      errors: [{ extensions: { code: "unsupported_media_type", param: "Content-Type" } }],
    });
  });
});

describe("two Authorization headers are refused, since a proxy may have checked the other one", () => {
  const both = (): readonly (readonly string[])[] => {
    const [valid, invalid] = [
      ["authorization", `Bearer ${secret}`],
      ["Authorization", "Bearer sk-another"],
    ];
    return [
      [...valid, ...invalid],
      [...invalid, ...valid],
      [...valid, ...valid],
    ];
  };

  test.each([
    ["/graphql", QUERY],
    ["/graphql/stream", QUERY],
    ["/mcp", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })],
    ["/v1/chat/completions", "{}"],
    ["/v1/management-keys/a/unknown", "{}"],
  ])("at %s", async (path, body) => {
    const accept = ["accept", "application/json, text/event-stream"];
    for (const headers of both()) {
      const answer = await post(path, [...TYPE, ...accept, ...headers], body);
      expect(answer.status, headers.join()).toBe(401);
      expect(answer.text).toContain("Send one Authorization header.");
      expect(answer.text).toContain('"code":"invalid_api_key"');
    }
  });

  test("at the session of the dashboard", async () => {
    const { origin } = stack();
    const answer = await post("/dashboard/session", ["origin", origin, ...(both()[0] ?? [])], "");
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("one Authorization header")]);
  });

  test("at a WebSocket, unless its connection parameters have the credential", async () => {
    const opened = (payload: object) =>
      new Promise<string>((resolve, reject) => {
        const socket = new WebSocket(
          `${stack().origin.replace("http", "ws")}/graphql`,
          "graphql-transport-ws",
          {
            finishRequest: (request) => {
              request.setHeader("authorization", [`Bearer ${secret}`, "Bearer sk-another"]);
              request.end();
            },
          },
        );
        socket.once("open", () => socket.send(JSON.stringify({ type: "connection_init", payload })));
        socket.once("message", (data) => {
          socket.close();
          resolve(String(data));
        });
        socket.once("close", (code, reason) => resolve(`${code} ${reason}`));
        socket.once("error", reject);
      });
    expect(await opened({})).toMatch(/^4403 .*one Authorization header/);
    expect(await opened({ authorization: `Bearer ${secret}` })).toContain("connection_ack");
  });
});
