/** Resolves in the next turn of the event loop, in Node and in browsers. */
export function nextTurn(): Promise<void> {
  const { setImmediate = setTimeout } = globalThis as {
    readonly setImmediate?: (callback: () => void) => unknown;
  };
  return new Promise((resolve) => void setImmediate(resolve));
}
