import { parentPort } from "node:worker_threads";
import { toWorkerFailure, type WorkerAnswer } from "../../kernel/async/worker-pool.ts";
import { type DecodedTranscription, decodeTranscription } from "../audio/audio-request.ts";
import {
  countBounded,
  countRequestTokens,
  countTexts,
  countTokens,
  type PromptFields,
} from "../billing/tokens.ts";
import { type AnswerChanges, answerEdits } from "../chat/answer-edits.ts";
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
import type { ProviderHead } from "../providers/exchange/provider-exchange.ts";
import { responseOfChat, type WholeResponse } from "../responses/response-answer.ts";
import type { Edit } from "./json-member.ts";
import { outlineOf, parseAnswerJson, parseJson } from "./outline.ts";

/** A task for a thread, on a text or body that is too long for the event loop. */
export type BodyTask =
  | { readonly kind: "count-texts"; readonly texts: readonly string[] }
  | { readonly kind: "count-request" | "count-other-inputs"; readonly body: Uint8Array }
  | { readonly kind: "count-answer"; readonly body: Uint8Array; readonly format: AnswerFormat }
  | { readonly kind: "parse-answer" | "read-generated"; readonly body: Uint8Array }
  | { readonly kind: "find-edits"; readonly body: Uint8Array; readonly changes: AnswerChanges }
  | { readonly kind: "translate-chat"; readonly body: Uint8Array; readonly response: WholeResponse }
  | { readonly kind: "read-transcription"; readonly body: Uint8Array }
  | { readonly kind: "read-vectors"; readonly body: Uint8Array; readonly encoding: Encoding }
  | { readonly kind: "read-images" | "hash-images" | "read-encoded-vectors"; readonly text: string }
  | {
      readonly kind: "read-submission" | "read-report";
      readonly head: ProviderHead;
      readonly body: Uint8Array;
    };

/**
 * The result of a task: a token count, the outline, edits or translation of an answer, a transcription request,
 * embeddings, images or their hashes, or a job's status.
 */
export type BodyResult =
  | { readonly kind: "count"; readonly tokens: number }
  | { readonly kind: "outline"; readonly value: unknown }
  | { readonly kind: "edits"; readonly edits: readonly Edit[] }
  | { readonly kind: "response"; readonly bytes: Uint8Array }
  | { readonly kind: "transcription"; readonly request: DecodedTranscription }
  | { readonly kind: "vectors"; readonly read: ReadVectors }
  | { readonly kind: "encoded-vectors"; readonly answer: EncodedVectors }
  | { readonly kind: "generated"; readonly read: GeneratedImages }
  | { readonly kind: "images"; readonly answer: AnsweredImages }
  | { readonly kind: "image-hashes"; readonly hashes: readonly string[] }
  | { readonly kind: "submission"; readonly submission: Submission }
  | { readonly kind: "report"; readonly report: Report };

parentPort?.on("message", (task: BodyTask) => {
  let answer: WorkerAnswer<BodyResult>;
  try {
    answer = { result: run(task) };
  } catch (error) {
    answer = { failure: toWorkerFailure(error) };
  }
  parentPort?.postMessage(answer, transferList(answer));
});

/** The buffers to transfer instead of copying: the audio file, the images of a job, and a translated answer. */
function transferList(answer: WorkerAnswer<BodyResult>): readonly ArrayBuffer[] {
  const bytes = "result" in answer ? ownBytes(answer.result) : undefined;
  return bytes ? [bytes.buffer as ArrayBuffer] : [];
}

function ownBytes(result: BodyResult): Uint8Array | undefined {
  if (result.kind === "response") return result.bytes;
  if (result.kind === "transcription") return result.request.bytes;
  if (result.kind === "submission" && result.submission.kind === "done") return result.submission.result;
  if (result.kind === "report" && result.report.kind === "done") return result.report.result;
  return undefined;
}

function run(task: BodyTask): BodyResult {
  switch (task.kind) {
    case "count-texts":
      return counted(() => countTexts(task.texts));
    case "count-request":
      return counted(() => countRequestTokens(parse(task.body) as PromptFields));
    case "count-other-inputs":
      return counted(() => countTokens(otherInputsOf(parse(task.body))));
    case "count-answer":
      return counted(() => countTexts(answerTexts(parse(task.body), task.format)));
    case "parse-answer":
      return { kind: "outline", value: outlineOf(parseAnswerJson(bufferOf(task.body))) };
    case "find-edits":
      return { kind: "edits", edits: answerEdits(bufferOf(task.body), task.changes) };
    case "translate-chat":
      return { kind: "response", bytes: owned(responseOfChat(bufferOf(task.body), task.response)) };
    case "read-transcription":
      return { kind: "transcription", request: ownedFile(decodeTranscription(bufferOf(task.body))) };
    case "read-vectors":
      return { kind: "vectors", read: readVectors(bufferOf(task.body), task.encoding) };
    case "read-encoded-vectors":
      return { kind: "encoded-vectors", answer: readEncodedVectors(task.text) };
    case "read-generated":
      return { kind: "generated", read: readGenerated(bufferOf(task.body)) };
    case "read-images":
      return { kind: "images", answer: readImages(task.text) };
    case "hash-images":
      return { kind: "image-hashes", hashes: hashImages(task.text) };
    case "read-submission":
      return { kind: "submission", submission: readSubmission({ ...task.head, body: bufferOf(task.body) }) };
    case "read-report":
      return { kind: "report", report: readReport({ ...task.head, body: bufferOf(task.body) }) };
  }
}

function counted(count: () => number): BodyResult {
  return { kind: "count", tokens: countBounded(count) };
}

function ownedFile(request: DecodedTranscription): DecodedTranscription {
  return { ...request, bytes: owned(request.bytes) };
}

/** Small buffers share a memory pool with others, which would be transferred with them. */
function owned(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

function parse(body: Uint8Array): unknown {
  return parseJson(bufferOf(body));
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
