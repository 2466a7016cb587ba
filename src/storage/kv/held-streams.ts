import type { Hex } from "../../kernel/text/hex.ts";

/** The streams that are replayed here: all, or those of a list. */
export type HeldStreams = "all" | readonly Hex[];

/** Whether a stream is replayed here. */
export function isHeld(held: HeldStreams, streamId: Hex): boolean {
  return held === "all" || held.includes(streamId);
}

/** The canonical text of the setting, used to detect a change of it. */
export function describeHeld(held: HeldStreams): string {
  return held === "all" ? "all" : [...new Set(held)].sort().join(",");
}
