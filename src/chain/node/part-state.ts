/**
 * Whether a part of the node could be read. `unset`: its address is not configured. `unreachable`: it does not answer.
 * `malformed`: what answers is not such a part.
 */
export type PartState = "unset" | "unreachable" | "malformed" | "answering";

/** A part of the node that was not read, and why. */
export type NotRead = { readonly state: Exclude<PartState, "answering">; readonly detail: string };

/** For a part whose setting is missing. */
export function unset(setting: string): NotRead {
  return { state: "unset", detail: `${setting} is not set.` };
}
