import { createClient, type OpenTransport, webSocket } from "../../../../../packages/client/src/index.ts";
import { noteRefusal } from "../session/session-watch.ts";

/** The client's WebSocket, which also notes refusals: the gateway ends the subscriptions of a session with it. */
const watchedSocket: OpenTransport = (options) => {
  const socket = webSocket()(options);
  return {
    subscribe: (operation, sink) =>
      socket.subscribe(operation, {
        opened: () => sink.opened(),
        heard: () => sink.heard(),
        next(result) {
          for (const { extensions } of result.errors ?? []) noteRefusal(extensions?.code);
          sink.next(result);
        },
        ended: () => sink.ended(),
        failed(failure) {
          noteRefusal("code" in failure.error && failure.error.code);
          sink.failed(failure);
        },
      }),
    reset: () => socket.reset(),
    dispose: () => socket.dispose(),
  };
};

/** Follows subscriptions of the session, whose cookie identifies the caller. */
export const liveClient = createClient({ url: "/graphql", transport: watchedSocket });
