import type { App } from "../app.ts";
import { hashRequest } from "../idempotency/canonical-body.ts";
import { type Claim, type KeptAnswer, MAX_KEPT_BYTES } from "../idempotency/idempotency.service.ts";
import type { ReplayKey } from "../idempotency/replay-key.ts";
import type { StreamSink } from "../inference/dispatch/stream-options.ts";
import { exactJson } from "../kernel/text/exact-json.ts";
import type { Answer } from "./http/answer.ts";
import { cacheHeaders } from "./http/cache-headers.ts";

/**
 * What a repeated request with the same `Idempotency-Key` gets: the first response again, or, if that contains a
 * `secret`, an error that says that the request was already done. A `billed` request creates nothing: if its process
 * dies before it is charged, it may be run again.
 */
export type IdempotencyMode = "replayed" | "billed" | "secret";

/** A request with an `Idempotency-Key`. */
export type KeyedRequest = {
  readonly account: string;
  readonly method: string;
  readonly url: string;
  readonly key: string;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** What the request states besides its body: see `comparableOptions`. */
  readonly options: string | undefined;
  readonly requestId: string;
  /** The encryption key of the stored response, derived from the credential that was sent. */
  readonly replayKey: ReplayKey | undefined;
};

const JSON_TYPE = "application/json; charset=utf-8";
const EVENTS_TYPE = "text/event-stream; charset=utf-8";

/** Handles a request once: `handle` runs for the first with its key, and repetitions get its outcome (P4). */
export async function answerOnce(
  app: App,
  request: KeyedRequest,
  repetition: IdempotencyMode,
  handle: () => Promise<Answer>,
): Promise<Answer> {
  const { account, method, url: route, key, params, body, options, requestId, replayKey } = request;
  const bodyHash = await hashRequest(params, body, { options });
  const begun = await app.idempotency.begin({
    ...{ account, method, route, key, bodyHash, requestId, replayKey },
    isBilled: repetition === "billed",
  });
  if (!("keep" in begun)) return replay(begun);
  const answer = await handle().catch(async (error: unknown) => {
    throw await begun.fail(error);
  });
  if (answer.kind === "stream")
    return { kind: "stream", run: (sink) => storeStream(begun, answer.run, sink) };
  // Files are read, not created: no idempotent endpoint answers with one.
  if (repetition === "secret" || answer.kind === "file") await begun.keepNothing();
  else await begun.keep(toKeptAnswer(answer));
  return answer;
}

function replay({ status, headers, body }: KeptAnswer): Answer {
  return { kind: "bytes", status, bytes: body, headers: { ...headers, "idempotent-replayed": "true" } };
}

function toKeptAnswer(answer: Exclude<Answer, { kind: "stream" | "file" }>): KeptAnswer {
  const status = answer.status ?? 200;
  if (answer.kind === "bytes")
    return { status, headers: { "content-type": JSON_TYPE, ...answer.headers }, body: answer.bytes };
  return { status, headers: { "content-type": JSON_TYPE }, body: Buffer.from(exactJson(answer.value)) };
}

type Run = Extract<Answer, { kind: "stream" }>["run"];

/** Forwards a stream and buffers a copy. The copy is stored if the client received all of it. */
async function storeStream(claim: Claim, run: Run, sink: StreamSink): Promise<void> {
  const copy = new StreamCopy(sink);
  try {
    await run(copy);
  } catch (error) {
    if (!copy.isStarted) throw await claim.fail(error);
    await claim.cut();
    throw error;
  }
  if (copy.isWhole) await claim.keep(copy.answer());
  else await claim.cut();
}

class StreamCopy implements StreamSink {
  readonly #sink: StreamSink;
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #headers: Readonly<Record<string, string>> = {};
  #left = false;
  #ended = false;

  constructor(sink: StreamSink) {
    this.#sink = sink;
    sink.onClose(() => {
      this.#left = true;
    });
  }

  /** Whether the client was sent a part of the answer. */
  get isStarted(): boolean {
    return this.#sizeBytes > 0;
  }

  get isWhole(): boolean {
    return this.#ended && !this.#left && this.#sizeBytes <= MAX_KEPT_BYTES;
  }

  answer(): KeptAnswer {
    return { status: 200, headers: this.#headers, body: Buffer.concat(this.#chunks) };
  }

  start(head: Parameters<StreamSink["start"]>[0]): void {
    const { responseKey, cache } = head;
    this.#headers = {
      "content-type": EVENTS_TYPE,
      ...(responseKey !== undefined && { "zg-res-key": responseKey }),
      ...(cache && cacheHeaders(cache)),
    };
    this.#sink.start(head);
  }

  write(bytes: Buffer): boolean {
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes <= MAX_KEPT_BYTES) this.#chunks.push(bytes);
    else this.#chunks.length = 0;
    return this.#sink.write(bytes);
  }

  end(): void {
    this.#ended = true;
    this.#sink.end();
  }

  abort(): void {
    this.#sink.abort();
  }

  isClosed(): boolean {
    return this.#sink.isClosed();
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener);
  }

  onClose(listener: () => void): void {
    this.#sink.onClose(listener);
  }
}
