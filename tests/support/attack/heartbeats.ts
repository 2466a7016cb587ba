import { WebSocket } from "ws";
import { bearer } from "../followed.ts";
import { until } from "../until.ts";

type HeartbeatStream = { readonly count: () => number; readonly stop: () => void };

/**
 * Opens a subscription on every transport. `next` resolves when each has received `beats` further heartbeats.
 */
export function openHeartbeats(given: {
  readonly origin: string;
  readonly secret: string;
  readonly query: string;
}) {
  const { origin, secret, query } = given;
  const request = {
    method: "POST",
    headers: { ...bearer(secret), "content-type": "application/json" },
    body: JSON.stringify({ query }),
  };
  const open = [
    countPings(origin, secret),
    countParts(`${origin}/graphql/stream`, request, "text/event-stream", ":\n\n"),
    countParts(`${origin}/graphql`, request, "multipart/mixed;subscriptionSpec=1.0", "\r\n\r\n{}"),
  ];
  return {
    async next(beats: number) {
      const before = open.map(({ count }) => count());
      await until(() => open.every(({ count }, at) => count() - (before[at] ?? 0) >= beats));
    },
    stop: () => {
      for (const { stop } of open) stop();
    },
  };
}

function countPings(origin: string, secret: string): HeartbeatStream {
  const socket = new WebSocket(`${origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  let pings = 0;
  socket.once("open", () =>
    socket.send(JSON.stringify({ type: "connection_init", payload: bearer(secret) })),
  );
  socket.on("ping", () => {
    pings += 1;
  });
  socket.on("error", () => {});
  return { count: () => pings, stop: () => socket.terminate() };
}

function countParts(
  url: string,
  request: { readonly headers: Readonly<Record<string, string>> },
  accept: string,
  beat: string,
): HeartbeatStream {
  const leaving = new AbortController();
  let text = "";
  const read = async () => {
    const headers = { ...request.headers, accept };
    const { body } = await fetch(url, { ...request, headers, signal: leaving.signal });
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  read().catch(() => {});
  return { count: () => text.split(beat).length - 1, stop: () => leaving.abort() };
}
