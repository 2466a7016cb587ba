import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { Turn } from "./conversation.ts";
import type { ConversationStore } from "./conversation-store.ts";
import { type TurnActions, TurnView } from "./turn-view.tsx";

/** Within this distance from the end of the page, a reader follows an answer. In CSS pixels. */
const NEAR_PX = 320;

type Props = TurnActions & {
  readonly store: ConversationStore;
  /** What is below the conversation, at the end of the page. */
  readonly end: RefObject<HTMLElement | null>;
};

/** The questions and their answers, as they arrive. */
export function TurnList({ store, end, ...actions }: Props) {
  const { turns, isComing } = useSyncExternalStore(store.subscribe, store.current);
  useFollow(end, turns, isComing);
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  // The same at every render, so that turns that do not change are not rendered again.
  const lasting = useMemo<TurnActions>(
    () => ({
      onEdit: () => latest.current.onEdit(),
      onAgain: (column) => latest.current.onAgain(column),
      onResults: (column, results) => latest.current.onResults(column, results),
    }),
    [],
  );
  return (
    <ol className="turns" aria-label="Conversation" aria-live="polite" aria-busy={isComing}>
      {turns.map((turn, n) => (
        <TurnView
          key={turn.id}
          turn={turn}
          actions={n === turns.length - 1 && !isComing ? lasting : undefined}
        />
      ))}
    </ol>
  );
}

/** Keeps the end of the conversation in view while an answer comes, for a reader who has not scrolled away from it. */
function useFollow(end: RefObject<HTMLElement | null>, turns: readonly Turn[], isComing: boolean): void {
  const wasComing = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other turns are another height.
  useLayoutEffect(() => {
    const below = document.documentElement.scrollHeight - innerHeight - scrollY;
    if ((isComing || wasComing.current) && below < NEAR_PX) end.current?.scrollIntoView({ block: "end" });
    wasComing.current = isComing;
  }, [turns, isComing]);
}
