import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { RequestAbort } from "../../../gateway/http/request-abort.ts";
import { StreamingResponse } from "../../../gateway/subscriptions/streaming-response.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
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

const CLIENTS = 400;
/** What the end of a connection costs: its operations are aborted, and their sources closed. */
const WORK_MS = 0.5;
/** 50 ms, and what Node does for the sockets of the server and of the clients, which share this thread. */
const MAX_TURN_MS = 100;

function work(): void {
  const endMs = performance.now() + WORK_MS;
  while (performance.now() < endMs);
}

const STREAM = {
  stallMs: 60_000,
  heartbeat: ":\n\n",
  heartbeatMs: 60_000,
  among: new Set<StreamingResponse>(),
};

test.each<[string, (response: Parameters<RequestListener>[1], onClose: () => void) => unknown]>([
  ["streams", (response, onClose) => new StreamingResponse(response, {}, STREAM, onClose)],
  ["requests", (response, onClose) => new RequestAbort(response).signal.addEventListener("abort", onClose)],
])("the %s of hundreds of clients that leave at once are ended in short turns", async (_, serve) => {
  let [begun, ended] = [0, 0];
  const server = createServer((_request, response) => {
    begun += 1;
    serve(response, () => {
      work();
      ended += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const open = async () => {
    [begun, ended] = [0, 0];
    const sockets = Array.from({ length: CLIENTS }, () => connect(port, "127.0.0.1"));
    for (const socket of sockets) socket.resume().write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await until(() => begun === CLIENTS);
    return sockets;
  };
  const turnMs = await repeatedTurnMs(
    MAX_TURN_MS,
    async (sockets) => {
      for (const socket of sockets) socket.destroy();
      await until(() => ended === CLIENTS);
    },
    open,
  );
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});
