import { setImmediate as nextTurn } from "node:timers/promises";
import { concatPieces, type Piece, sizeOfPieces } from "../concat-pieces.ts";

/** Bytes copied in one turn of the event loop: a few milliseconds on a slow machine, as new memory is cleared as well. */
const TURN_BYTES = 2 * 1_048_576;

/** Like `concatPieces`, but long results are copied in several turns of the event loop. */
export async function concatInTurns(pieces: readonly Piece[]): Promise<Buffer> {
  const sizeBytes = sizeOfPieces(pieces);
  if (sizeBytes <= TURN_BYTES) return concatPieces(pieces, sizeBytes);
  const whole = Buffer.allocUnsafeSlow(sizeBytes);
  let done = 0;
  let leftBytes = TURN_BYTES;
  for (const given of pieces) {
    const piece = typeof given === "string" ? Buffer.from(given) : given;
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
  }
  return whole;
}
