import { useEffect, useRef } from "react";
import {
  ConnectionLost,
  EventsLost,
  type TypedDocument,
  type WithoutAfter,
} from "../../../../../packages/client/src/index.ts";
import { type Live, type UseLiveOptions, useLive } from "../../../../../packages/client/src/react.ts";

/** The pause before a page subscribes again: what ends at once must not be opened at once. */
const PAUSE_MS = 3_000;

type Options<Result> = UseLiveOptions<Result> & {
  /** Queries the state again: events were lost, and those from now on follow. */
  readonly onGap: () => void;
};

/**
 * Follows a subscription as `useLive` does. When it ends because events were lost, as after a database was replaced, the
 * page subscribes again from now on, and queries its state once it is live.
 */
export function useFollowed<Result, Variables>(
  document: TypedDocument<Result, Variables> | null,
  variables: WithoutAfter<Variables>,
  { onGap, ...options }: Options<Result>,
): Live<Result> {
  const live = useLive(document, variables, options);
  const { error, state, restart } = live;
  const hasGap = useRef(false);
  const latest = useRef(onGap);
  useEffect(() => {
    latest.current = onGap;
  });
  useEffect(() => {
    if (!(error instanceof EventsLost || error instanceof ConnectionLost)) return;
    hasGap.current = true;
    const timer = setTimeout(() => restart(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [error, restart]);
  useEffect(() => {
    if (state !== "live" || !hasGap.current) return;
    hasGap.current = false;
    latest.current();
  }, [state]);
  return live;
}
