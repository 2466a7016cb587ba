import { setImmediate as nextTurn } from "node:timers/promises";

/** Bytes copied in one turn of the event loop: a few milliseconds on a slow machine, as new memory is cleared as well. */
const TURN_BYTES = 2 * 1_048_576;

/** Like `Buffer.concat`, but long results are copied in several turns of the event loop. */
export async function concatInTurns(pieces: readonly Uint8Array[]): Promise<Buffer> {
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (sizeBytes <= TURN_BYTES) return Buffer.concat(pieces, sizeBytes);
  const whole = Buffer.allocUnsafeSlow(sizeBytes);
  let done = 0;
  let leftBytes = TURN_BYTES;
  for (const piece of pieces)
    for (let start = 0; start < piece.length; ) {
      const part = piece.subarray(start, start + leftBytes);
      whole.set(part, done);
      start += part.length;
      done += part.length;
      leftBytes -= part.length;
      if (leftBytes > 0) continue;
      await nextTurn();
      leftBytes = TURN_BYTES;
    }
  return whole;
}
