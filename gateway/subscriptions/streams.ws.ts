import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { ExecutionArgs, ExecutionResult, GraphQLError } from "graphql";
import { CloseCode, handleProtocols, makeServer } from "graphql-ws";
import { type WebSocket, WebSocketServer } from "ws";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { forEachInTurns, sharedTurns } from "../../src/kernel/async/shared-turns.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { TransientMap } from "../../src/kernel/transient-map.ts";
import { hopOf } from "../../src/keys/auth/source-address.ts";
import type { OperationMemory } from "../../src/load/operation-memory.ts";
import { authorizationHeaderOf } from "../../src/rest/http/headers.ts";
import { toGraphFailure } from "../../subgraphs/shared/failures.ts";
import { showError } from "../federation/policy/refusals.ts";
import type { OperationAccount } from "../graph/operation-account.ts";
import { ClientLeft } from "../http/request-abort.ts";
import type { Turns } from "../http/turns.ts";
import { lossResult, showResult } from "./results.ts";
import { cutReason, SocketConnection } from "./socket-connection.ts";
import type { Results, StreamContext, StreamedOperation } from "./streamed-operation.ts";
import type { Streams } from "./streams.ts";

const PATH = "/graphql";
const TOO_MANY = "Too many subscriptions on one socket";

/** The memory budget of an operation, and what aborts it when the client completes it or leaves. */
type SocketOperation = { readonly memory: OperationMemory; readonly abort: AbortController };

/** The state of one socket. */
type Extra = {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** Its operations in progress, by their ids in graphql-ws. */
  readonly operations: TransientMap<string, SocketOperation>;
  account?: OperationAccount;
  replayKey?: StreamContext["replayKey"];
};

/**
 * graphql-transport-ws at /graphql. The credential is the connection parameter `authorization`, or the header of the
 * upgrade request; an invalid credential closes the socket with 4403 and its code (`invalid_api_key: ...`), and so does
 * one that ends while the socket is open. An oversized frame closes it with 1009; too many sockets, streams or messages, and a socket beyond the rate
 * limit, with 4429. An operation beyond the rate limit is refused without closing the socket.
 */
export function serveWebSockets(http: Server, streams: Streams, turns: Turns): { close(): Promise<void> } {
  const { limits, stallMs } = streams;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: limits.frameBytes, handleProtocols });
  const protocol = createProtocol(streams);
  const accept = (socket: WebSocket, request: IncomingMessage) => {
    const release = streams.caps.enter();
    if (!release) return socket.close(1013, "Try again later");
    socket.once("close", release);
    const operations = new TransientMap<string, SocketOperation>();
    const completed = (id: string) => {
      const operation = operations.get(id);
      if (operation) leave(operation, new ClientLeft());
    };
    const options = { ...limits, stallMs, turns, report: streams.report, completed };
    const closed = protocol.opened(new SocketConnection(socket, options), { socket, request, operations });
    const end = async (code: number, reason: string) => {
      // Thousands of sockets close in the same moment when a proxy restarts.
      await sharedTurns.next();
      const left = new ClientLeft();
      for (const operation of operations.values()) leave(operation, left);
      await closed(code, reason);
    };
    socket.once("close", (code, reason) => void end(code, String(reason)).catch(streams.report));
  };
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isGraphHandshake(request)) return socket.destroy();
    // Node has released the socket: while it waits in the queue, nothing else would notice a connection error.
    socket.on("error", () => socket.destroy());
    const isLate = !turns.take(() => {
      if (!socket.destroyed)
        sockets.handleUpgrade(request, socket, head, (opened) => accept(opened, request));
    });
    if (isLate) socket.destroy();
  };
  http.on("upgrade", onUpgrade);
  return {
    async close() {
      http.off("upgrade", onUpgrade);
      // Handshakes that wait are refused from now on.
      sockets.close();
      await forEachInTurns([...sockets.clients], (socket) => socket.close(1001, "Going away"));
    },
  };
}

function leave({ memory, abort }: SocketOperation, reason: ClientLeft): void {
  abort.abort(reason);
  memory.end();
}

/** Whether a request is a WebSocket handshake at /graphql: no other upgrade is supported. */
export function isGraphHandshake({ method, url = "/", headers }: IncomingMessage): boolean {
  return (
    method === "GET" && url.split("?", 1)[0] === PATH && headers.upgrade?.trim().toLowerCase() === "websocket"
  );
}

function createProtocol(streams: Streams) {
  const { limits } = streams;
  // A failure ends that operation only: the other subscriptions of the socket continue.
  const run = (operation: ExecutionArgs) =>
    streams.run(operation as StreamedOperation).catch((error: unknown) => lossResult(error, streams.report));
  return makeServer<Record<string, unknown>, Extra>({
    connectionInitWaitTimeout: limits.initMs,
    async onConnect({ connectionParams, extra }) {
      const given = connectionParams?.authorization ?? connectionParams?.Authorization;
      try {
        await enter(streams, extra, given ?? authorizationHeaderOf(extra.request));
        return true;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === "rate_limit_exceeded")
          extra.socket.close(CloseCode.TooManyInitialisationRequests, cutReason(error.message));
        if (error.status >= 500) extra.socket.close(CloseCode.InternalServerError, cutReason(error.message));
        // Without effect after one of these. The library would say "Forbidden" alone.
        extra.socket.close(CloseCode.Forbidden, closeReason(error));
        return false;
      }
    },
    async onSubscribe({ extra, subscriptions }, id, payload) {
      // The new subscription is already among them.
      if (Object.keys(subscriptions).length > limits.subscriptionsPerSocket) {
        extra.socket.close(CloseCode.TooManyInitialisationRequests, TOO_MANY);
        // The operation must not run: its client learns that it was refused.
        return [toGraphFailure(new AppError("rate_limit_exceeded", TOO_MANY))];
      }
      const { account, replayKey, operations } = extra;
      if (!account) throw new Error("a socket subscribes when it is acknowledged");
      const operation = {
        memory: streams.memoryOf(extra.request, account.principal),
        abort: new AbortController(),
      };
      const { memory, abort } = operation;
      operations.set(id, operation);
      try {
        await account.take(1);
        const admitted = await streams.admit(payload, { account, replayKey, memory, signal: abort.signal });
        if (!("document" in admitted)) operations.delete(id);
        return admitted;
      } catch (error) {
        operations.delete(id);
        if (!(error instanceof AppError)) streams.report(error);
        return [toGraphFailure(error)];
      }
    },
    onNext: (_context, _id, _payload, _args, result) => showResult(result as ExecutionResult),
    onError: (_context, _id, _payload, errors) =>
      errors.flatMap(refusalsIn).map((error) => showError(error.toJSON?.() ?? error)),
    onComplete({ extra }, id) {
      extra.operations.get(id)?.memory.end();
      extra.operations.delete(id);
    },
    execute: run,
    async subscribe(operation) {
      const opened = await run(operation);
      return isRefused(opened) ? refusedStream(opened.errors) : opened;
    },
  });
}

/** The errors of a subscription that was refused when it opened. */
class Refused extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super("the subscription was refused");
    this.errors = errors;
  }
}

function isRefused(
  opened: Results | ExecutionResult,
): opened is ExecutionResult & { readonly errors: readonly GraphQLError[] } {
  return !(Symbol.asyncIterator in opened) && opened.data === undefined && opened.errors !== undefined;
}

/** graphql-ws sends `error` for a stream that fails, and `next` for a result: a refusal is a stream that fails at once. */
function refusedStream(errors: readonly GraphQLError[]): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Refused(errors)) }) };
}

/** The errors that graphql-ws made one of. */
function refusalsIn(error: GraphQLError): readonly GraphQLError[] {
  return error.originalError instanceof Refused ? error.originalError.errors : [error];
}

/** The code and the text of a refusal. */
function closeReason({ code, message }: AppError): string {
  return cutReason(`${code}: ${message}`);
}

/** Authenticates the socket, acquires the caller's slot, and closes the socket when the credential ends. */
async function enter(streams: Streams, extra: Extra, authorization: unknown): Promise<void> {
  const { socket, request } = extra;
  const hop = hopOf(request);
  const account = await streams.authenticate(authorization, hop);
  const { principal } = account;
  if (socket.readyState !== socket.OPEN) return;
  const release = streams.take("sockets", principal, hop);
  if (!release) throw new AppError("rate_limit_exceeded", "Too many sockets for one key");
  const stopWatching = streams.watch(principal, (end) => socket.close(CloseCode.Forbidden, closeReason(end)));
  socket.once("close", () => {
    release();
    stopWatching();
  });
  extra.account = account;
  const replayKey = ReplayKey.ofAuthorization(authorization);
  extra.replayKey = () => replayKey;
}
