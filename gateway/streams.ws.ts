import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { ExecutionArgs } from "graphql";
import { CloseCode } from "graphql-ws";
import { useServer } from "graphql-ws/use/ws";
import { type WebSocket, WebSocketServer } from "ws";
import { AppError } from "../src/kernel/errors.ts";
import { ANONYMOUS, type Principal } from "../src/keys/principal.ts";
import { hopOf } from "../src/keys/source-address.ts";
import { LIMITS } from "./policy.ts";
import type { StreamedOperation, Streams } from "./streams.ts";

const PATH = "/graphql";
const PING_MS = 12_000;

/**
 * graphql-transport-ws at /graphql. The credential is the connection parameter `authorization`, or the header of the
 * upgrade; a wrong one closes the socket with 4403, and so does one that ends while the socket is open. One frame too
 * large closes it with 1009, one stream too many or a rate limit with 4429.
 */
export function serveWebSockets(http: Server, streams: Streams): { close(): Promise<void> } {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LIMITS.frameBytes });
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (new URL(request.url ?? "/", "http://gateway").pathname !== PATH) return socket.destroy();
    return sockets.handleUpgrade(request, socket, head, (opened) =>
      sockets.emit("connection", opened, request),
    );
  };
  http.on("upgrade", onUpgrade);
  const open = new WeakMap<WebSocket, number>();
  const count = (socket: WebSocket, change: number) => {
    const now = (open.get(socket) ?? 0) + change;
    open.set(socket, now);
    return now;
  };
  const closeWithCredential = (socket: WebSocket, principal: Principal) => {
    if (socket.readyState !== socket.OPEN) return;
    const stopWatching = streams.watch(principal, ({ message }) =>
      socket.close(CloseCode.Forbidden, message),
    );
    socket.once("close", stopWatching);
  };
  const run = (operation: ExecutionArgs) => streams.run(operation as StreamedOperation);
  const served = useServer<Record<string, unknown>, { principal: Principal }>(
    {
      connectionInitWaitTimeout: LIMITS.initMs,
      async onConnect({ connectionParams, extra }) {
        const given = connectionParams?.authorization ?? connectionParams?.Authorization;
        try {
          extra.principal = await streams.authenticate(
            given ?? extra.request.headers.authorization,
            hopOf(extra.request),
          );
          closeWithCredential(extra.socket, extra.principal);
          return true;
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          if (error.code === "rate_limit_exceeded")
            extra.socket.close(CloseCode.TooManyInitialisationRequests, error.message);
          return false;
        }
      },
      onSubscribe({ extra }, _id, payload) {
        const operation = streams.admit(payload, extra.principal ?? ANONYMOUS);
        if (!("document" in operation)) return operation;
        if (count(extra.socket, 1) > LIMITS.subscriptionsPerSocket)
          extra.socket.close(CloseCode.TooManyInitialisationRequests, "Too many subscriptions on one socket");
        return operation;
      },
      onComplete: ({ extra }) => void count(extra.socket, -1),
      onError: ({ extra }) => void count(extra.socket, -1),
      execute: run,
      subscribe: run,
    },
    sockets,
    PING_MS,
  );
  return {
    async close() {
      http.off("upgrade", onUpgrade);
      await served.dispose();
      sockets.close();
    },
  };
}
