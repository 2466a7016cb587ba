import {
  type CacheConfig,
  type GraphQLResponse,
  type INetwork,
  Network,
  Observable,
  type RequestParameters,
  type Variables,
} from "relay-runtime";
import { type ClientOrOptions, clientOf, observe } from "./adapter.ts";
import type { Client } from "./core/client.ts";
import { execute } from "./core/result-parts.ts";
import { RelayResponses } from "./relay/responses.ts";

/**
 * A network for an environment of Relay: `new Environment({ network: relayNetwork({ url, credential }), store })`.
 * Queries and mutations are delivered in parts where they have `@defer` or `@stream`, and subscriptions resume by
 * themselves. With a client of `createClient` instead of settings, its state tells whether events arrive.
 */
export function relayNetwork(given: ClientOrOptions): INetwork {
  const client = clientOf(given);
  return Network.create(
    (request, variables, _cacheConfig: CacheConfig, uploadables) => {
      if (uploadables) throw new Error("The graph takes no uploads: the REST API does.");
      return send(client, request, variables);
    },
    (request, variables) =>
      Observable.create<GraphQLResponse>((sink) =>
        observe(client, textOf(request), variables, {
          next: (result) => sink.next(result as GraphQLResponse),
          error: (reason) => sink.error(reason as Error),
          complete: () => sink.complete(),
        }),
      ),
  );
}

function send(client: Client, request: RequestParameters, variables: Variables): Observable<GraphQLResponse> {
  return Observable.create((sink) => {
    const left = new AbortController();
    const deliver = async () => {
      const query = textOf(request);
      const responses = new RelayResponses(query);
      const canRepeat = request.operationKind === "query";
      for await (const part of execute(client, query, variables, { signal: left.signal, canRepeat })) {
        const [first, ...others] = responses.of(part);
        if (first) sink.next((others.length > 0 ? [first, ...others] : first) as GraphQLResponse);
      }
    };
    deliver().then(
      () => sink.complete(),
      (reason: unknown) => left.signal.aborted || sink.error(reason as Error),
    );
    return () => left.abort();
  });
}

function textOf({ name, text }: RequestParameters): string {
  if (text) return text;
  throw new Error(`${name} has no text: compile it without persistConfig.`);
}
