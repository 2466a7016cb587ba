/** Like `Promise.allSettled` over `run` of each item, with at most `max` running at once, started in order. */
export async function settleAll<Item, Result>(
  items: readonly Item[],
  max: number,
  run: (item: Item) => Promise<Result>,
): Promise<readonly PromiseSettledResult<Result>[]> {
  const outcomes: PromiseSettledResult<Result>[] = [];
  const waiting = items.entries();
  const lane = async () => {
    for (const [at, item] of waiting) {
      try {
        outcomes[at] = { status: "fulfilled", value: await run(item) };
      } catch (reason) {
        outcomes[at] = { status: "rejected", reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, lane));
  return outcomes;
}
