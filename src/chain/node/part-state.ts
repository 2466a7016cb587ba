/**
 * Whether a part of the node could be read. `unset`: its address is not configured. `unreachable`: it does not answer.
 * `malformed`: the response is not that of such a part.
 */
export type PartState = "unset" | "unreachable" | "malformed" | "answering";

/** A part of the node that could not be read, and the reason. */
export type NotRead = { readonly state: Exclude<PartState, "answering">; readonly detail: string };

/** The state of a part whose setting is missing. */
export function unset(setting: string): NotRead {
  return { state: "unset", detail: `${setting} is not set.` };
}
