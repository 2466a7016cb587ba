import { addressOf } from "./address.ts";
import { type TypedDocument, textOf } from "./document.ts";
import { CredentialFailure } from "./errors.ts";
import { EVENT_CURSOR } from "./event-cursor.ts";
import { dataOf, type RequestOptions, sendRequest } from "./request.ts";
import { ResumingSubscription } from "./resuming-subscription.ts";
import type { SubscribeOptions, Subscription } from "./subscribe-options.ts";
import { Observed, type SubscriptionState } from "./subscription-state.ts";
import type { OpenTransport, TransportOptions } from "./transport.ts";
import { toVariables } from "./variables.ts";

/**
 * An `sk-` key, an `mk-` key or a session token; or a function that returns the present one. What the function throws
 * ends the query or subscription that needs it.
 */
export type Credential = string | undefined | (() => string | undefined | Promise<string | undefined>);

/** The settings of a client. */
export type ClientOptions = {
  /** The gateway's origin (`https://router.example`), or the address of its graph (`…/graphql`). */
  readonly url: string;
  /** Left out in a page whose session is a cookie, or whose own server adds the key. Keep `sk-` keys on servers. */
  readonly credential?: Credential;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Applies to every subscription that does not set its own. */
  readonly subscriptions?: Pick<SubscribeOptions, "retry" | "silentMs" | "maxWaiting">;
};

/** The state of all subscriptions together: the worst of them, `idle` without any. */
export type ConnectionState = "idle" | Exclude<SubscriptionState, "ended">;

/** Variables without the cursor, which the client sets. */
export type WithoutAfter<Variables> = Omit<Variables, "after">;

/** Sends operations to one gateway with one credential. */
export interface Client {
  /** The address of POST /graphql. */
  readonly url: string;
  /** How requests are sent, for functions that send their own. */
  readonly requests: TransportOptions;
  readonly state: ConnectionState;
  /** Calls back at each change of the state, until the returned function is called. */
  onState(listener: (state: ConnectionState) => void): () => void;
  /** Resolves with the data of a query. Throws `OperationRefused` or `ConnectionLost`. */
  query<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables?: Variables,
    options?: RequestOptions,
  ): Promise<Result>;
  /** Resolves with the data of a mutation, which is sent once only. Throws `OperationRefused` or `ConnectionLost`. */
  mutate<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables?: Variables,
    options?: RequestOptions,
  ): Promise<Result>;
  /** Subscribes at once. The subscription resumes by itself, and is ended with `return()` or the signal. */
  subscribe<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables?: WithoutAfter<Variables>,
    options?: SubscribeOptions,
  ): Subscription<Result>;
  /** Connects all subscriptions again with the present credential, as after a sign-in. */
  reconnect(): void;
  /** Ends all subscriptions and closes their connections. */
  dispose(): void;
}

/** From the worst to the best. */
const STATES = ["reconnecting", "connecting", "replaying", "live"] as const;

/** Creates a client whose subscriptions use the given transport. It opens no connection until it needs one. */
export function createClientWith(openTransport: OpenTransport, options: ClientOptions): Client {
  const to = destinationOf(options);
  const transport = openTransport(to);
  const open = new Map<Subscription<unknown>, () => void>();
  const state = new Observed<ConnectionState>("idle");
  const refresh = () => {
    const states = new Set([...open.keys()].map((subscription) => subscription.state));
    state.set(STATES.find((worst) => states.has(worst)) ?? "idle");
  };
  const send = async (
    document: TypedDocument<unknown, never>,
    variables: unknown,
    canRepeat: boolean,
    more: RequestOptions = {},
  ) => {
    const operation = { query: textOf(document), variables: toVariables(variables) };
    return sendRequest(to, operation, { ...more, canRepeat });
  };
  const readCursor = async (signal: AbortSignal) => {
    const result = await send(EVENT_CURSOR, {}, false, { signal, timeoutMs: 30_000 });
    return (dataOf(result) as { readonly eventCursor: string }).eventCursor;
  };
  return {
    url: to.url,
    requests: to,
    get state() {
      return state.value;
    },
    onState: (listener) => state.listen(listener),
    query: async <Result>(
      document: TypedDocument<unknown, never>,
      variables: unknown,
      more?: RequestOptions,
    ) => dataOf(await send(document, variables, true, more)) as Result,
    mutate: async <Result>(
      document: TypedDocument<unknown, never>,
      variables: unknown,
      more?: RequestOptions,
    ) => dataOf(await send(document, variables, false, more)) as Result,
    subscribe<Result>(
      document: TypedDocument<unknown, never>,
      variables: unknown,
      more: SubscribeOptions = {},
    ) {
      const operation = { query: textOf(document), variables: toVariables(variables) };
      const settings = { ...options.subscriptions, ...more };
      const subscription = new ResumingSubscription<Result>({ transport, readCursor }, operation, settings);
      if (subscription.state === "ended") return subscription;
      const stop = subscription.onState((now) => {
        if (now === "ended") {
          stop();
          open.delete(subscription);
        }
        refresh();
      });
      open.set(subscription, stop);
      refresh();
      return subscription;
    },
    reconnect() {
      transport.reset();
      for (const subscription of [...open.keys()]) subscription.reconnect();
    },
    dispose() {
      for (const subscription of [...open.keys()]) void subscription.return();
      transport.dispose();
    },
  };
}

/** What the caller's function returns now. Throws `CredentialFailure`. */
async function returnedBy(credential: Extract<Credential, () => unknown>): Promise<string | undefined> {
  try {
    return await credential();
  } catch (reason) {
    throw new CredentialFailure("", { cause: reason instanceof Error ? reason : new Error(String(reason)) });
  }
}

function destinationOf({ url, credential, fetch: given }: ClientOptions): TransportOptions {
  const path = addressOf(url);
  return {
    url: path.endsWith("/graphql") ? path : `${path}/graphql`,
    // The global one is looked up at each call: pages and tests replace it.
    fetch: given ?? ((input, init) => globalThis.fetch(input, init)),
    async authorization() {
      const value = typeof credential === "function" ? await returnedBy(credential) : credential;
      if (value === undefined || value === "") return undefined;
      return /^\w+ /.test(value) ? value : `Bearer ${value}`;
    },
  };
}
