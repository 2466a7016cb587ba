import { nextTurn } from "../../../src/kernel/async/next-turn.ts";
import { TURN_BYTES, TurnQueue } from "../../../src/kernel/async/turn-queue.ts";
import type { guard } from "../failures.ts";

type Resolve = Parameters<typeof guard>[0];

/** What a value costs besides its text: about 2 µs to convert, check and encode, as many as that many bytes to search. */
const VALUE_BYTES = 256;
/** Smaller arguments take less than a millisecond. */
const SMALL_BYTES = 65_536;

const turns = new TurnQueue();

/**
 * Lets root fields with large arguments take turns of the event loop, after the one in which the operation was read. An
 * operation may have many of them, each with the same variable, and all would be resolved in one turn.
 */
export function inTurns(resolve: Resolve): Resolve {
  return (parent, args, ...rest) => {
    const bytes = weightOf(args);
    if (bytes < SMALL_BYTES) return resolve(parent, args, ...rest);
    return nextTurn().then(
      () =>
        new Promise((settle) => {
          turns.take(bytes, () => settle(new Promise((run) => run(resolve(parent, args, ...rest)))));
        }),
    );
  };
}

/** About how much work a value is, in bytes as a `TurnQueue` counts them; at most those of a turn, or a little more. */
function weightOf(value: unknown): number {
  let bytes = 0;
  const waiting = [value];
  while (waiting.length > 0 && bytes < TURN_BYTES) {
    const next = waiting.pop();
    bytes += VALUE_BYTES;
    if (typeof next === "string") bytes += next.length;
    else if (typeof next === "object" && next !== null)
      for (const member of Array.isArray(next) ? next : Object.values(next)) waiting.push(member);
  }
  return bytes;
}
