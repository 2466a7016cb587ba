import type { EventStream } from "./bus.ts";
import type { DomainEvent, Topic } from "./topics.ts";

/** The events of a stream that satisfy `wanted`. It ends when the stream does, and `return()` ends both at once. */
export function filterStream<T extends Topic>(
  stream: EventStream<T>,
  wanted: (event: DomainEvent<T>) => boolean,
): EventStream<T> {
  return {
    async next() {
      for (;;) {
        const result = await stream.next();
        if (result.done || wanted(result.value)) return result;
      }
    },
    return: () => stream.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
