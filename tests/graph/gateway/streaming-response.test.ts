import { createServer } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { StreamingResponse } from "../../../gateway/subscriptions/streaming-response.ts";
import { until } from "../../support/until.ts";

test("writers that wait for one client share their listeners, and all of them continue when it reads", async () => {
  const chunk = "x".repeat(65_536);
  const writers = 40;
  let waiting: { readonly listeners: number; readonly written: Promise<readonly boolean[]> } | undefined;
  const server = createServer((_request, response) => {
    const options = {
      ...{ stallMs: 60_000, heartbeat: ":\n\n", heartbeatMs: 60_000 },
      among: new Set<StreamingResponse>(),
    };
    const stream = new StreamingResponse(response, {}, options, () => {});
    const before = response.listenerCount("drain") + response.listenerCount("close");
    const written = Promise.all(Array.from({ length: writers }, () => stream.write(chunk)));
    const after = response.listenerCount("drain") + response.listenerCount("close");
    waiting = { listeners: after - before, written };
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const socket = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  const { listeners, written } = await until(() => waiting ?? false);
  expect(listeners).toBe(2);
  socket.resume();
  expect(await written).toEqual(Array(writers).fill(true));
});
