import type { Mark } from "./log-watcher.store.ts";

/** Thrown for a block that an endpoint lacks, although another answer of it was about a newer one. */
export class BlockMissing extends Error {
  override readonly name = "BlockMissing";

  constructor(number: bigint) {
    super(`it lacks block ${number}, although it returned a newer one`);
  }
}

/** Whether the chain has this block. */
type IsOnChain = (mark: Mark) => Promise<boolean>;

/** The newest stored block that is on the chain, and the oldest one that is not; undefined where there is none. */
export type Fork = { readonly common: Mark | undefined; readonly gone: Mark | undefined };

/** Binary search of marks, newest first: below a mark that is on the chain, all are on the chain. */
export async function findFork(marks: readonly Mark[], isOnChain: IsOnChain): Promise<Fork> {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const mark = marks[middle];
    if (mark && (await isOnChain(mark))) high = middle;
    else low = middle + 1;
  }
  return { common: marks[low], gone: marks[low - 1] };
}

/**
 * The newest block on the chain whose logs have rows, above `low` and below `high`; undefined if there is none. The
 * rows of a block record its hash, so they show that both chains have it also where no mark is stored: a rollback to
 * it reverts no row of a common block. `newestStored` finds the newest block with rows at or below a height. Binary
 * search by height, so at most as many calls as a height has bits.
 */
export async function newestCommonRow(
  bounds: { readonly low: bigint; readonly high: bigint },
  newestStored: (upTo: bigint) => Promise<Mark | undefined>,
  isOnChain: IsOnChain,
): Promise<Mark | undefined> {
  let { low, high } = bounds;
  let common: Mark | undefined;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    const mark = await newestStored(middle);
    if (!mark || mark.number <= low) low = middle;
    else if (await isOnChain(mark)) [common, low] = [mark, middle];
    else high = mark.number;
  }
  return common;
}

/** The one with the highest number, undefined if there is none. */
export function newestMark(marks: readonly (Mark | undefined)[]): Mark | undefined {
  const known = marks.filter((mark) => mark !== undefined);
  return known.toSorted((one, other) => Number(other.number - one.number))[0];
}
