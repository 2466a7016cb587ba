import type { CallPart } from "./said.ts";

/** A call that has begun: the id and the name that the chat gave it, and its arguments so far. */
type BegunCall = {
  readonly givenId: string | undefined;
  /** Empty until it is given. */
  readonly givenName: string;
  readonly arguments: string;
};

const MAX_READ_ARGUMENTS = 16_384;

/**
 * Whether a delta begins another call although it has the index of this one: some servers give no ids either. Others
 * repeat the name in every delta, so that the same name begins another call only after complete arguments.
 */
export function isNextCall({ name, arguments: added }: CallPart, call: BegunCall): boolean {
  if (call.givenId !== undefined || name === undefined || call.givenName === "") return false;
  return name !== call.givenName || (added.startsWith("{") && isObject(call.arguments));
}

/** Whether a text is a JSON object. A long one is not read, because that is repeated for every delta. */
function isObject(text: string): boolean {
  if (text.length > MAX_READ_ARGUMENTS || !text.startsWith("{") || !text.trimEnd().endsWith("}"))
    return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
