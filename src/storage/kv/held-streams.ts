import type { Hex } from "../../kernel/text/hex.ts";

/** Which streams are replayed here: every one, or those of a list. */
export type HeldStreams = "all" | readonly Hex[];

/** Whether a stream is replayed here. */
export function isHeld(held: HeldStreams, streamId: Hex): boolean {
  return held === "all" || held.includes(streamId);
}

/** One text for one meaning of the setting, by which a change of it is noticed. */
export function describeHeld(held: HeldStreams): string {
  return held === "all" ? "all" : [...new Set(held)].sort().join(",");
}
