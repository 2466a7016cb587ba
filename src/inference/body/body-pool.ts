import { availableParallelism } from "node:os";
import { sharedTurns } from "../../kernel/async/shared-turns.ts";
import { WorkerPool } from "../../kernel/async/worker-pool.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { type DecodedTranscription, decodeTranscription } from "../audio/audio-request.ts";
import { estimatedTokens } from "../billing/estimated-tokens.ts";
import { countRequestTokens, countTexts, countTokens, type PromptFields } from "../billing/tokens.ts";
import { type AnswerChanges, answerEdits, isChanged } from "../chat/answer-edits.ts";
import { type AnswerFormat, answerTexts } from "../chat/answer-text.ts";
import {
  type EncodedVectors,
  type ReadVectors,
  readEncodedVectors,
  readVectors,
} from "../embeddings/embeddings-answer.ts";
import type { Encoding } from "../embeddings/embeddings-request.ts";
import { otherInputsOf } from "../guardrails/other-inputs.ts";
import {
  type AnsweredImages,
  type GeneratedImages,
  hashImages,
  readGenerated,
  readImages,
} from "../images/image-answer.ts";
import { type Report, readReport, readSubmission, type Submission } from "../images/jobs/image-job-plan.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import { responseOfChat, type WholeResponse } from "../responses/response-answer.ts";
import type { BodyResult, BodyTask } from "./body-worker.ts";
import type { Edit } from "./json-member.ts";
import { parseAnswerJson, parseJson } from "./outline.ts";
import { mayHaveTrace } from "./trace-edits.ts";

/** Texts up to this length are tokenized inline: at most 15 ms, 1 ms for English. */
const MAX_INLINE_BYTES = 16_384;
/** JSON up to this length is parsed inline: at most 15 ms. */
const MAX_INLINE_JSON = 262_144;
const MAX_HELD_BYTES = 192 * 1_048_576;
/** Deadline of a task on a thread. The tokens of a text that takes longer are estimated. */
const DEADLINE_MS = 20_000;
const IDLE_MS = 30_000;
/** One for short bodies, and one or two for long ones. */
const THREADS = availableParallelism() < 4 ? 2 : 3;
/** A longer body takes up to seconds. */
const LONG_BYTES = 1_048_576;

const UNEXPECTED_RESULT = "a worker thread returned the result of another task";

type Threads = Pick<WorkerPool<BodyResult>, "run" | "close">;

/** Counts tokens and parses answers without blocking the event loop. */
export type Bodies = Pick<
  BodyPool,
  "countTexts" | "countRequest" | "countOtherInputs" | "countAnswer" | "parseAnswer" | "findEdits"
>;

/**
 * Parses and tokenizes bodies that are too long for the event loop on worker threads, and short ones inline. The first
 * long body starts a thread, which takes about 200 ms.
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

  /**
   * Counts the tokens of several texts, each by itself. When the pool is too busy, estimates one token per four bytes.
   * Never throws.
   */
  async countTexts(texts: readonly string[]): Promise<number> {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const isShort = length <= MAX_INLINE_BYTES;
    return this.#count(length, () => (isShort ? countTexts(texts) : { kind: "count-texts", texts }));
  }

  /** Counts the prompt tokens in a valid JSON request body. Falls back to an estimate like `countTexts`. */
  async countRequest(body: Buffer): Promise<number> {
    const isShort = body.length <= MAX_INLINE_BYTES;
    return this.#count(body.length, () =>
      isShort
        ? countRequestTokens(parseJson(body) as PromptFields)
        : { kind: "count-request", body: forThread(body) },
    );
  }

  /** Counts the tokens of `otherInputsOf` a valid JSON request body. Falls back to an estimate like `countTexts`. */
  async countOtherInputs(body: Buffer): Promise<number> {
    const isShort = body.length <= MAX_INLINE_BYTES;
    return this.#count(body.length, () =>
      isShort
        ? countTokens(otherInputsOf(parseJson(body)))
        : { kind: "count-other-inputs", body: forThread(body) },
    );
  }

  /** Counts the tokens of the texts in a valid whole answer. Falls back to an estimate like `countTexts`. */
  async countAnswer(body: Buffer, format: AnswerFormat): Promise<number> {
    const isShort = body.length <= MAX_INLINE_BYTES;
    return this.#count(body.length, () =>
      isShort
        ? countTexts(answerTexts(parseJson(body), format))
        : { kind: "count-answer", body: forThread(body), format },
    );
  }

  /**
   * Runs `parseAnswerJson`. A text over 256 KiB yields only its outline, in which long strings are truncated
   * (`outlineOf`). Throws what it throws, and `unavailable`.
   */
  async parseAnswer(body: Buffer): Promise<unknown> {
    if (body.length <= MAX_INLINE_JSON) return inTurn(() => parseAnswerJson(body));
    const result = await this.#read({ kind: "parse-answer", body: forThread(body) }, body.length);
    return result.kind === "outline" ? result.value : undefined;
  }

  /** Runs `answerEdits`. Throws what it throws, and `unavailable`. */
  async findEdits(body: Buffer, changes: AnswerChanges): Promise<readonly Edit[]> {
    if (!isChanged(changes) && !mayHaveTrace(body)) return [];
    if (body.length <= MAX_INLINE_JSON) return inTurn(() => answerEdits(body, changes));
    const result = await this.#read({ kind: "find-edits", body: forThread(body), changes }, body.length);
    if (result.kind !== "edits") throw new Error(UNEXPECTED_RESULT);
    return result.edits;
  }

  /** Reads a transcription request in JSON. Throws `invalid_body`, `body_too_large` and `unavailable`. */
  async readTranscription(body: Buffer): Promise<DecodedTranscription> {
    if (body.length <= MAX_INLINE_JSON) return inTurn(() => decodeTranscription(body));
    const result = await this.#send({ kind: "read-transcription", body: forThread(body) }, body.length);
    if (result.kind !== "transcription") throw new Error(UNEXPECTED_RESULT);
    return result.request;
  }

  /** Runs `responseOfChat`. Throws `unavailable`. */
  async translateChat(body: Buffer, response: WholeResponse): Promise<Buffer> {
    if (body.length <= MAX_INLINE_JSON) return inTurn(() => responseOfChat(body, response));
    const result = await this.#read({ kind: "translate-chat", body: forThread(body), response }, body.length);
    if (result.kind !== "response") throw new Error(UNEXPECTED_RESULT);
    return Buffer.from(result.bytes.buffer, result.bytes.byteOffset, result.bytes.length);
  }

  /** Runs `readVectors`. Throws an `Error` for invalid JSON, and `unavailable`. */
  async readVectors(body: Buffer, encoding: Encoding): Promise<ReadVectors> {
    if (body.length <= MAX_INLINE_JSON) return inTurn(() => readVectors(body, encoding));
    const result = await this.#read({ kind: "read-vectors", body: forThread(body), encoding }, body.length);
    if (result.kind !== "vectors") throw new Error(UNEXPECTED_RESULT);
    return result.read;
  }

  /** Runs `readEncodedVectors`. Throws `unavailable`. */
  async readEncodedVectors(text: string): Promise<EncodedVectors> {
    if (text.length <= MAX_INLINE_JSON) return inTurn(() => readEncodedVectors(text));
    const result = await this.#read({ kind: "read-encoded-vectors", text }, text.length);
    if (result.kind !== "encoded-vectors") throw new Error(UNEXPECTED_RESULT);
    return result.answer;
  }

  /** Runs `readGenerated`. Throws what it throws, and `unavailable`. */
  async readGenerated(body: Buffer): Promise<GeneratedImages> {
    if (body.length <= MAX_INLINE_JSON) return inTurn(() => readGenerated(body));
    const result = await this.#read({ kind: "read-generated", body: forThread(body) }, body.length);
    if (result.kind !== "generated") throw new Error(UNEXPECTED_RESULT);
    return result.read;
  }

  /** Runs `readImages`. Throws `unavailable`. */
  async readImages(text: string): Promise<AnsweredImages> {
    if (text.length <= MAX_INLINE_JSON) return inTurn(() => readImages(text));
    const result = await this.#read({ kind: "read-images", text }, text.length);
    if (result.kind !== "images") throw new Error(UNEXPECTED_RESULT);
    return result.answer;
  }

  /** Runs `hashImages`. Throws `unavailable`. */
  async hashImages(text: string): Promise<readonly string[]> {
    if (text.length <= MAX_INLINE_JSON) return inTurn(() => hashImages(text));
    const result = await this.#read({ kind: "hash-images", text }, text.length);
    if (result.kind !== "image-hashes") throw new Error(UNEXPECTED_RESULT);
    return result.hashes;
  }

  /** Runs `readSubmission`. Throws `unavailable`. */
  async readSubmission(answer: ProviderAnswer | undefined): Promise<Submission> {
    if (!answer || answer.body.length <= MAX_INLINE_JSON) return inTurn(() => readSubmission(answer));
    const { body, ...head } = answer;
    const result = await this.#read({ kind: "read-submission", head, body: forThread(body) }, body.length);
    if (result.kind !== "submission") throw new Error(UNEXPECTED_RESULT);
    return result.submission;
  }

  /** Runs `readReport`. Throws `unavailable`. */
  async readReport(answer: ProviderAnswer | undefined): Promise<Report> {
    if (!answer || answer.body.length <= MAX_INLINE_JSON) return inTurn(() => readReport(answer));
    const { body, ...head } = answer;
    const result = await this.#read({ kind: "read-report", head, body: forThread(body) }, body.length);
    if (result.kind !== "report") throw new Error(UNEXPECTED_RESULT);
    return result.report;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  /** Returns the count from `begin`, or runs its task on a thread. */
  async #count(sizeBytes: number, begin: () => number | BodyTask): Promise<number> {
    try {
      const begun = await inTurn(begin);
      if (typeof begun === "number") return begun;
      const result = await this.#send(begun, sizeBytes);
      if (result.kind === "count") return result.tokens;
      throw new Error(UNEXPECTED_RESULT);
    } catch (error) {
      if (!(error instanceof AppError)) this.#log.error({ err: error }, "counting tokens failed");
      return estimatedTokens(sizeBytes);
    }
  }

  /** Runs a task on what a provider answered, which waits for a thread: a failure would lose work that is paid for. */
  #read(task: BodyTask, sizeBytes: number): Promise<BodyResult> {
    return this.#send(task, sizeBytes, { mustWait: true });
  }

  #send(task: BodyTask, sizeBytes: number, options = { mustWait: false }): Promise<BodyResult> {
    const memory = "body" in task ? task.body.buffer : undefined;
    return this.#threads.run(task, sizeBytes, memory instanceof ArrayBuffer ? [memory] : [], options);
  }
}

/** Many short bodies are due in one turn of the event loop where many streams end together. */
async function inTurn<T>(work: () => T): Promise<T> {
  await sharedTurns.next();
  return work();
}

/** A body for a thread: the same memory if it can be shared, else a copy, which is transferred. */
function forThread(body: Buffer): Uint8Array {
  const { buffer, byteOffset, length } = body;
  return buffer instanceof SharedArrayBuffer
    ? new Uint8Array(buffer, byteOffset, length)
    : new Uint8Array(body);
}

function newThreads(): Threads {
  const file = import.meta.url.endsWith(".ts") ? "./body-worker.ts" : "./body-worker.js";
  return new WorkerPool({
    file: new URL(file, import.meta.url),
    threads: THREADS,
    longBytes: LONG_BYTES,
    maxBytes: MAX_HELD_BYTES,
    deadlineMs: DEADLINE_MS,
    idleMs: IDLE_MS,
  });
}
