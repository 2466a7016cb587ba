import { availableParallelism } from "node:os";
import { WorkerPool } from "../../kernel/async/worker-pool.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { type DecodedTranscription, decodeTranscription } from "../audio/audio-request.ts";
import { countRequestTokens, countTokens, type PromptFields } from "../billing/tokens.ts";
import { type AnswerChanges, answerEdits, isChanged } from "../chat/answer-edits.ts";
import { type AnswerFormat, answerTexts } from "../chat/answer-text.ts";
import { type AnsweredImages, readImages } from "../images/image-answer.ts";
import { type Report, readReport, readSubmission, type Submission } from "../images/jobs/image-job-plan.ts";
import type { ProviderAnswer } from "../providers/provider-answer.ts";
import type { BodyResult, BodyTask } from "./body-worker.ts";
import type { Edit } from "./json-member.ts";
import { parseJson } from "./outline.ts";

/** Texts up to this length are tokenized at once: at most 30 ms, 1.5 ms for English. */
const MAX_INLINE_BYTES = 16_384;
/** JSON up to this length is parsed at once: at most 15 ms. */
const MAX_INLINE_JSON = 262_144;
const MAX_HELD_BYTES = 192 * 1_048_576;
/** From when a body is given to a thread until it is given up. Text that takes longer to tokenize is estimated. */
const DEADLINE_MS = 20_000;
const IDLE_MS = 30_000;
const MAX_THREADS = 2;
/** What a token is taken for, bytes, where the pool is too busy to count. */
const BYTES_PER_TOKEN = 4;

type Threads = Pick<WorkerPool<BodyResult>, "run" | "close">;

/** What counts tokens and parses answers without holding up the event loop. */
export type Bodies = Pick<
  BodyPool,
  "countText" | "countRequest" | "countAnswer" | "parseAnswer" | "findEdits"
>;

/**
 * Reads and counts bodies that are too long for the event loop, each on a thread of its own; short ones at once. A
 * thread is started by the first long body, in about 300 ms.
 */
export class BodyPool {
  readonly #log: Pick<Logger, "error">;
  readonly #threads: Threads;

  constructor({
    log,
    threads = newThreads(),
  }: { readonly log: Pick<Logger, "error">; readonly threads?: Threads }) {
    this.#log = log;
    this.#threads = threads;
  }

  /** Tokens of a text. When the pool is too busy it is an estimate, a token for four bytes; it never throws. */
  async countText(text: string): Promise<number> {
    const isShort = text.length <= MAX_INLINE_BYTES;
    return this.#count(text.length, () => (isShort ? countTokens(text) : { kind: "count-text", text }));
  }

  /** Tokens of the prompt in the JSON body of a request, which was read before. An estimate like `countText`. */
  async countRequest(body: Buffer): Promise<number> {
    const isShort = body.length <= MAX_INLINE_BYTES;
    return this.#count(body.length, () =>
      isShort
        ? countRequestTokens(parseJson(body) as PromptFields)
        : { kind: "count-request", body: copyOf(body) },
    );
  }

  /** Tokens of the texts in a whole answer, which was parsed before. An estimate like `countText`. */
  async countAnswer(body: Buffer, format: AnswerFormat): Promise<number> {
    const isShort = body.length <= MAX_INLINE_BYTES;
    return this.#count(body.length, () =>
      isShort
        ? countTokens(answerTexts(parseJson(body), format))
        : { kind: "count-answer", body: copyOf(body), format },
    );
  }

  /**
   * Parses JSON; of a text over 256 KiB only the outline, in which long texts are cut (`outlineOf`). Throws an `Error`
   * for what is no JSON, and `unavailable`.
   */
  async parseAnswer(body: Buffer): Promise<unknown> {
    if (body.length <= MAX_INLINE_JSON) return parseJson(body);
    const result = await this.#send({ kind: "parse-answer", body: copyOf(body) }, body.length);
    return result.kind === "outline" ? result.value : undefined;
  }

  /** `answerEdits`. Throws what that throws, and `unavailable`. */
  async findEdits(body: Buffer, changes: AnswerChanges): Promise<readonly Edit[]> {
    if (!isChanged(changes)) return [];
    if (body.length <= MAX_INLINE_JSON) return answerEdits(body, changes);
    const result = await this.#send({ kind: "find-edits", body: copyOf(body), changes }, body.length);
    if (result.kind !== "edits") throw new Error("a thread answered another task");
    return result.edits;
  }

  /** Reads a request for a transcription in JSON. Throws `invalid_body`, `body_too_large` and `unavailable`. */
  async readTranscription(body: Buffer): Promise<DecodedTranscription> {
    if (body.length <= MAX_INLINE_JSON) return decodeTranscription(body);
    const result = await this.#send({ kind: "read-transcription", body: copyOf(body) }, body.length);
    if (result.kind !== "transcription") throw new Error("a thread answered another task");
    return result.request;
  }

  /** `readImages`. Throws `unavailable`. */
  async readImages(text: string): Promise<AnsweredImages> {
    if (text.length <= MAX_INLINE_JSON) return readImages(text);
    const result = await this.#send({ kind: "read-images", text }, text.length);
    if (result.kind !== "images") throw new Error("a thread answered another task");
    return result.answer;
  }

  /** `readSubmission`. Throws `unavailable`. */
  async readSubmission(answer: ProviderAnswer | undefined): Promise<Submission> {
    if (!answer || answer.body.length <= MAX_INLINE_JSON) return readSubmission(answer);
    const { body, ...head } = answer;
    const result = await this.#send({ kind: "read-submission", head, body: copyOf(body) }, body.length);
    if (result.kind !== "submission") throw new Error("a thread answered another task");
    return result.submission;
  }

  /** `readReport`. Throws `unavailable`. */
  async readReport(answer: ProviderAnswer | undefined): Promise<Report> {
    if (!answer || answer.body.length <= MAX_INLINE_JSON) return readReport(answer);
    const { body, ...head } = answer;
    const result = await this.#send({ kind: "read-report", head, body: copyOf(body) }, body.length);
    if (result.kind !== "report") throw new Error("a thread answered another task");
    return result.report;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  /** The count that `begin` has at once, or comes to on a thread. */
  async #count(sizeBytes: number, begin: () => number | BodyTask): Promise<number> {
    try {
      const begun = begin();
      if (typeof begun === "number") return begun;
      const result = await this.#send(begun, sizeBytes);
      if (result.kind === "count") return result.tokens;
      throw new Error("a thread answered another task");
    } catch (error) {
      if (!(error instanceof AppError)) this.#log.error({ err: error }, "tokens could not be counted");
      return Math.ceil(sizeBytes / BYTES_PER_TOKEN);
    }
  }

  #send(task: BodyTask, sizeBytes: number): Promise<BodyResult> {
    return this.#threads.run(task, sizeBytes, "body" in task ? [task.body.buffer as ArrayBuffer] : []);
  }
}

/** A copy that can be given away: the event loop keeps its own. */
function copyOf(body: Buffer): Uint8Array {
  return new Uint8Array(body);
}

function newThreads(): Threads {
  const file = import.meta.url.endsWith(".ts") ? "./body-worker.ts" : "./body-worker.js";
  return new WorkerPool({
    file: new URL(file, import.meta.url),
    threads: Math.min(MAX_THREADS, Math.max(1, availableParallelism() - 1)),
    maxBytes: MAX_HELD_BYTES,
    deadlineMs: DEADLINE_MS,
    idleMs: IDLE_MS,
  });
}
