import type { TadaDocumentNode } from "gql.tada";
import type { ExecutionResult } from "graphql";
import { print } from "graphql/language/printer.js";
import type { Client } from "graphql-ws";
import { useEffect, useRef, useState } from "react";
import { pauseMs } from "./fetch-again.ts";
import { openSocket, reasonOf } from "./graph.ts";

/** The state of a stream: receiving events, reconnecting, or refused permanently. */
export type Liveness =
  | { readonly kind: "connecting" | "live" }
  | { readonly kind: "refused"; readonly reason: string };

let shared: Client | undefined;

/** The session's connection. */
function sessionSocket(): Client {
  shared ??= openSocket();
  return shared;
}

/** Closes the session's connection, so that the next session opens its own. */
export function dropSessionSocket(): void {
  void shared?.dispose();
  shared = undefined;
}

/**
 * Follows a subscription while the component is mounted. After an interruption it resumes after the last event's
 * cursor, so that nothing is missed.
 */
export function useLive<Result, Variables extends { readonly after?: string | null }>(
  document: TadaDocumentNode<Result, Variables> | null,
  variables: Omit<Variables, "after">,
  onEvent: (result: Result) => void,
  /** The cursor to start after, if earlier events are already known. */
  knownUntil?: string,
): Liveness {
  const [liveness, setLiveness] = useState<Liveness>({ kind: "connecting" });
  const handler = useRef(onEvent);
  handler.current = onEvent;
  const key = JSON.stringify(variables);
  const first = useRef(knownUntil);
  useEffect(() => {
    if (!document) return;
    const query = print(document);
    let cursor = first.current;
    let failures = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stop: () => void = () => {};
    let isOver = false;
    const again = () => {
      if (isOver) return;
      setLiveness({ kind: "connecting" });
      timer = setTimeout(begin, pauseMs(failures++));
    };
    const begin = () => {
      const client = sessionSocket();
      const stopOpened = client.on("connected", () => setLiveness({ kind: "live" }));
      const unsubscribe = client.subscribe<Result>(
        { query, variables: { ...JSON.parse(key), after: cursor ?? null } },
        {
          next: (result) => {
            failures = 0;
            setLiveness({ kind: "live" });
            if (!result.data) return;
            cursor = cursorOf(result.data) ?? cursor;
            handler.current(result.data as Result);
          },
          error: (error) => {
            stopOpened();
            if (Array.isArray(error)) setLiveness({ kind: "refused", reason: reasonOf(error) });
            else again();
          },
          complete: () => {
            stopOpened();
            again();
          },
        },
      );
      stop = () => {
        stopOpened();
        unsubscribe();
      };
      setLiveness((now) => (now.kind === "live" ? now : { kind: "live" }));
    };
    begin();
    return () => {
      isOver = true;
      clearTimeout(timer);
      stop();
    };
  }, [document, key]);
  return liveness;
}

/** Runs one subscription to its end, with an API key. Ends early when `signal` is aborted. */
export async function stream<Result, Variables extends object>(
  apiKey: string,
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  onResult: (result: Result) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = openSocket(apiKey);
  try {
    const results = client.iterate<Result>({
      query: print(document),
      variables: variables as Record<string, unknown>,
    });
    signal.addEventListener("abort", () => void results.return?.(), { once: true });
    for await (const { data, errors } of results as AsyncIterable<ExecutionResult<Result>>) {
      if (errors) throw new Error(reasonOf(errors));
      if (data) onResult(data);
    }
  } catch (error) {
    if (!signal.aborted) throw new Error(reasonOf(error));
  } finally {
    void client.dispose();
  }
}

/** Every event has its cursor one level down. */
function cursorOf(data: object): string | undefined {
  const [event] = Object.values(data) as readonly unknown[];
  const cursor = (event as { cursor?: unknown } | null)?.cursor;
  return typeof cursor === "string" ? cursor : undefined;
}
