import { SEGMENT, type SegmentStates } from "../worker/messages.ts";

type StateName = keyof typeof SEGMENT;

/** The words for each state of a segment, in the order in which they are listed. */
export type SegmentWords = Readonly<Record<StateName, string>>;

/** More segments than this share cells. */
const MAX_CELLS = 192;
/** What a cell of several segments shows: the first of these that one of them has, else done. */
const MATTERS: readonly StateName[] = ["failed", "again", "busy", "waiting"];
const NAMES = Object.keys(SEGMENT) as readonly StateName[];

/** The segments of a file as a grid of cells, with a line in words below. */
export function SegmentGrid({
  states,
  words,
  label,
}: {
  states: SegmentStates;
  words: SegmentWords;
  label: string;
}) {
  const perCell = Math.ceil(states.length / MAX_CELLS);
  const cells = Array.from({ length: Math.ceil(states.length / perCell) }, (_, n) =>
    stateOf(states.subarray(n * perCell, (n + 1) * perCell)),
  );
  const text = inWords(states, words);
  return (
    <div className="segments">
      <div className="segment-cells" role="img" aria-label={`${label}: ${text}`}>
        {cells.map((state, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place.
          <span key={n} className={`segment ${state}`} />
        ))}
      </div>
      <p className="quiet">
        {text}
        {perCell > 1 && ` (a cell is ${perCell} segments of 256 KiB)`}
      </p>
    </div>
  );
}

/** How many segments are done. */
export function doneCount(states: SegmentStates): number {
  return states.reduce((count, state) => count + (state === SEGMENT.done ? 1 : 0), 0);
}

function stateOf(states: SegmentStates): StateName {
  return MATTERS.find((name) => states.includes(SEGMENT[name])) ?? "done";
}

function inWords(states: SegmentStates, words: SegmentWords): string {
  const counts = new Map<number, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  const done = (counts.get(SEGMENT.done) ?? 0).toLocaleString("en");
  const others = NAMES.filter((name) => name !== "done" && counts.has(SEGMENT[name])).map(
    (name) => `${counts.get(SEGMENT[name])?.toLocaleString("en")} ${words[name]}`,
  );
  return [`${done} of ${states.length.toLocaleString("en")} segments ${words.done}`, ...others].join(", ");
}
