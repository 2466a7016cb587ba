import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { Client, WithoutAfter } from "../core/client.ts";
import { type TypedDocument, textOf } from "../core/document.ts";
import type { LiveEvent } from "../core/live-event.ts";
import { toVariables } from "../core/variables.ts";
import { type LiveSnapshot, LiveStore } from "./live-store.ts";
import { useClient } from "./provider.tsx";

/** How a component follows a subscription. */
export type UseLiveOptions<Result> = {
  /** The cursor to start after: the `eventCursor` that was queried together with the state. */
  readonly after?: string | null;
  /** Called for each event, once and in order. */
  readonly onEvent?: (data: Result, event: LiveEvent<Result>) => void;
  /** How many of the newest events are kept. Default: 100. */
  readonly keep?: number;
  /** As in `client.subscribe`: continue with a gap where resuming is impossible. */
  readonly allowGaps?: boolean;
  /** Instead of the provider's client. */
  readonly client?: Client;
};

/** A followed subscription. */
export type Live<Result> = LiveSnapshot<Result> & {
  /** Subscribes again after a cursor, or from now on, once it ended. */
  readonly restart: (after?: string | null) => void;
};

/**
 * Follows a subscription while the component is mounted; with `null` instead of a document it waits. Other variables
 * begin another subscription, without the events of the first.
 */
export function useLive<Result, Variables>(
  document: TypedDocument<Result, Variables> | null,
  variables?: WithoutAfter<Variables>,
  options: UseLiveOptions<Result> = {},
): Live<Result> {
  const provided = useClient(options.client);
  const query = useMemo(() => (document === null ? null : textOf(document)), [document]);
  const key = JSON.stringify([query, variables && toVariables(variables)]);
  const onEvent = useRef(options.onEvent);
  useEffect(() => {
    onEvent.current = options.onEvent;
  });
  const create = () => {
    const { after = null, keep = 100, allowGaps = false } = options;
    const open = (from: string | null) =>
      provided.subscribe<Result, object>(query ?? "", variables, { after: from, allowGaps });
    const report = (event: LiveEvent<Result>) => onEvent.current?.(event.data, event);
    const store = new LiveStore({ open: query === null ? undefined : open, after, keep, onEvent: report });
    return { key, client: provided, store };
  };
  const [held, setHeld] = useState(create);
  let current = held;
  if (held.key !== key || held.client !== provided) {
    current = create();
    setHeld(current);
  }
  const { store } = current;
  const snapshot = useSyncExternalStore(store.subscribe, store.read, store.read);
  return useMemo(() => ({ ...snapshot, restart: store.restart }), [snapshot, store]);
}
