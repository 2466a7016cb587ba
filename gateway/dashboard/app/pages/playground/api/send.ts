import { EventSourceParserStream } from "eventsource-parser/stream";
import { type Failure, failureIn, RequestFailed } from "./failure.ts";
import { type ApiRequest, toFetch } from "./request.ts";

/** Sends a request. Throws `RequestFailed` for an answer other than 2xx, and a `TypeError` without a network. */
export async function send(request: ApiRequest, key: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(request.path, toFetch(request, key, signal));
  if (response.ok) return response;
  const body = await response.json().catch(() => undefined);
  const answered = { status: response.status, retryAfter: response.headers.get("retry-after") };
  const failure = failureIn(body, answered) ?? {
    code: `status ${response.status}`,
    message: `The gateway answered with status ${response.status}.`,
  };
  throw new RequestFailed(failure);
}

const CUT_OFF: Failure = {
  code: "answer_cut_off",
  message: "The answer ended before it was complete.",
};

/**
 * The events of a streamed answer, as JSON, until `[DONE]`. Throws `RequestFailed` for an event with an error, and for an
 * answer that ends without `[DONE]`: a proxy may end it as if it were whole. Returning early ends the request.
 */
export async function* eventsOf(response: Response): AsyncGenerator<unknown, void> {
  if (!response.body) throw new RequestFailed(CUT_OFF);
  const events = response.body
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array<ArrayBuffer>, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await events.read();
      if (done) throw new RequestFailed(CUT_OFF);
      if (value.data === "[DONE]") return;
      const event: unknown = JSON.parse(value.data);
      const failure = failureIn(event);
      if (failure) throw new RequestFailed(failure);
      yield event;
    }
  } finally {
    await events.cancel().catch(() => {});
  }
}
