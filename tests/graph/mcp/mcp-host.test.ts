import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

test("a Host header that is no host is not a failure of the server", async () => {
  const { port, hostname } = new URL(stack().origin);
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  for (const host of ["[", "a b", "a:99999", "", "a/b?c#d", "ü"]) {
    const socket = connect(Number(port), hostname);
    socket.end(
      `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    const answer = await text(socket);
    expect([host, answer.split("\r\n")[0]]).not.toEqual([host, "HTTP/1.1 500 Internal Server Error"]);
  }
});
