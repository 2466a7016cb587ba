import { nextTurn } from "./next-turn.ts";

/** How long one turn of the event loop may take. */
const TURN_MS = 5;

/**
 * The first result of `find` that is not undefined, for the items in order; in as many turns of the event loop as
 * needed, for items that take up to some milliseconds each.
 */
export async function findInTurns<Item, Result>(
  items: Iterable<Item>,
  find: (item: Item) => Result | undefined,
): Promise<Result | undefined> {
  let endsMs = performance.now() + TURN_MS;
  for (const item of items) {
    if (performance.now() >= endsMs) {
      await nextTurn();
      endsMs = performance.now() + TURN_MS;
    }
    const result = find(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** `items.map(map)`, in as many turns of the event loop as needed: for items that take up to some milliseconds each. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let endsMs = performance.now() + TURN_MS;
  for (const item of items) {
    if (performance.now() >= endsMs) {
      await nextTurn();
      endsMs = performance.now() + TURN_MS;
    }
    results.push(map(item));
  }
  return results;
}
