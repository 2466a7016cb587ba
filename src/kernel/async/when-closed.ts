import type { ServerResponse } from "node:http";

/**
 * Calls `run` when a response is closed, or now if it already is: its client may have left while the request waited for
 * something, such as the lookup of its credential, and the event is not emitted again.
 */
export function whenClosed(response: ServerResponse, run: () => void): void {
  if (response.closed) run();
  else response.once("close", run);
}
