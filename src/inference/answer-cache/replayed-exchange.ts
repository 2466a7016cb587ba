import type {
  ProviderExchange,
  ProviderHead,
  ProviderListener,
} from "../providers/exchange/provider-exchange.ts";
import type { CachedAnswer } from "./cache-request.ts";

/** What is passed on in one turn of the event loop: its events take about a millisecond. */
const PART_BYTES = 16_384;

/**
 * Passes a stored answer to a listener as a provider would have sent it: in parts, as fast as the listener takes them.
 * Nothing is passed on before the exchange is returned.
 */
export function replayExchange({ answer }: CachedAnswer, listener: ProviderListener): ProviderExchange {
  const { contentType, body } = answer;
  const head: ProviderHead = { status: 200, contentType, responseKey: undefined };
  let at = 0;
  let isPaused = false;
  let isEnded = false;
  let next: NodeJS.Immediate | undefined;
  const run = () => {
    next = undefined;
    if (isPaused || isEnded) return;
    if (at === 0) listener.onHead(head);
    if (at < body.length) {
      listener.onChunk(body.subarray(at, at + PART_BYTES));
      at += PART_BYTES;
      // The listener may have aborted, or paused.
      if (!isPaused && !isEnded) next = setImmediate(run);
      return;
    }
    isEnded = true;
    listener.onEnd();
  };
  next = setImmediate(run);
  return {
    abort(reason) {
      if (isEnded) return;
      isEnded = true;
      clearImmediate(next);
      listener.onError(reason);
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      if (!isEnded) next ??= setImmediate(run);
    },
  };
}
