import { operationTurns, TURN_BYTES } from "../../../src/kernel/async/turn-queue.ts";
import { ClientLeftError } from "../../../src/kernel/errors.ts";
import type { Context } from "../context.ts";
import type { Resolve } from "../failures.ts";

/** The work per value besides its text: it is converted, checked and encoded in about 2 µs. */
const VALUE_BYTES = 256;
/** Smaller arguments take less than a millisecond. */
const SMALL_BYTES = 65_536;

/**
 * Lets root fields with large arguments take turns of the event loop, after the one in which the operation was read. An
 * operation may have many of them, each with the same variable, and all would be resolved in one turn.
 */
export function inTurns(resolve: Resolve): Resolve {
  return (parent, args, context, ...rest) => {
    const bytes = weightOf(args);
    if (bytes < SMALL_BYTES) return resolve(parent, args, context, ...rest);
    const signal = (context as Context | undefined)?.signal;
    return operationTurns.next(bytes, signal).then(() => {
      if (signal?.aborted) throw new ClientLeftError();
      return resolve(parent, args, context, ...rest);
    });
  };
}

/**
 * Executes no field of a mutation after its client has left or its deadline has passed: the fields of one operation run
 * one after the other, and each may be billed.
 */
export function untilAborted(resolve: Resolve): Resolve {
  return (parent, args, context, ...rest) => {
    if ((context as Context | undefined)?.signal?.aborted) throw new ClientLeftError();
    return resolve(parent, args, context, ...rest);
  };
}

/** The work of a value, about, in bytes as a `TurnQueue` counts them. It is not measured beyond that of one turn. */
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
