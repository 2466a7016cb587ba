import { CloseCode } from "graphql-ws";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

/** `{"query":"{ __typename } # h\xe9"}`, as a client with another encoding sends it, as the message of each protocol. */
const encoded = (message: object) => Buffer.from(JSON.stringify(message), "latin1");
const QUERY = { query: "{ __typename } # h\u00e9" };

test.each([
  ["/graphql", "application/json", QUERY],
  ["/graphql/stream", "text/event-stream", QUERY],
  ["/mcp", "application/json, text/event-stream", { jsonrpc: "2.0", id: "h\u00e9", method: "ping" }],
])(
  "a body at %s that is not UTF-8 is refused, as in REST, and never read as another text",
  async (path, accept, message) => {
    const reply = await fetch(`${stack().origin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept },
      body: encoded(message),
    });
    const answer = await reply.text();
    expect([reply.status, answer]).toEqual([400, expect.stringContaining("The body is not UTF-8.")]);
  },
);

test("a binary message that is not UTF-8 closes its socket", async () => {
  const socket = new WebSocket(`${stack().origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  onTestFinished(() => socket.terminate());
  const closed = new Promise((resolve) =>
    socket.once("close", (code, reason) => resolve([code, String(reason)])),
  );
  socket.once("open", () => socket.send(JSON.stringify({ type: "connection_init" })));
  socket.once("message", () =>
    socket.send(encoded({ type: "subscribe", id: "1", payload: QUERY }), { binary: true }),
  );
  // Without the check, the query is answered and completes.
  const completed = new Promise((resolve) =>
    socket.on("message", (data) => String(data).includes('"complete"') && resolve("answered")),
  );
  expect(await Promise.race([closed, completed])).toEqual([CloseCode.BadRequest, "The message is not UTF-8"]);
});
