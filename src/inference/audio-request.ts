import { z } from "zod";
import { AppError } from "../kernel/errors.ts";
import { type AudioDuration, audioDuration } from "./audio-duration.ts";
import { readProviderWishes } from "./chat-request.ts";
import { type Form, type FormPart, formBody, newForm, readMultipart, textsOf } from "./multipart.ts";
import type { Provider } from "./provider.ts";
import { checkFields, readFields, upstreamModel } from "./request-fields.ts";
import type { RoutingWishes } from "./routing.ts";

/** The formats in which what was said may be answered (facts 1.2). */
export const TRANSCRIPT_FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** The longest sound that is taken, bytes. */
export const MAX_AUDIO_BYTES = 25 * 1_048_576;

const texts = {
  model: z.string().min(1).max(256),
  language: z.string().min(1).max(64).nullish(),
  prompt: z.string().max(32_000).nullish(),
  response_format: z.enum(TRANSCRIPT_FORMATS).nullish(),
};
const NOT_STREAMED = "transcriptions are not streamed";

const FormTexts = z.looseObject({ ...texts, stream: z.literal("false", NOT_STREAMED).optional() });

/** A transcription asked for in JSON: the sound is base64, `filename` tells its kind (facts 1.2). */
export const TRANSCRIPTION_REQUEST = z
  .looseObject({
    ...texts,
    file_base64: z.string().min(1),
    filename: z.string().min(1).max(255).default("audio.wav"),
    temperature: z.number().nullish(),
    stream: z.literal(false, NOT_STREAMED).nullish(),
    provider: z.unknown().optional(),
    verify_tee: z.boolean().nullish(),
  })
  .meta({ id: "TranscriptionRequest" });

/** A transcription as the router needs to know it. */
export type TranscriptionRequest = {
  readonly model: string;
  readonly format: TranscriptFormat;
  readonly duration: AudioDuration;
  readonly sizeBytes: number;
  readonly wishes: RoutingWishes;
  /** Whether the provider's signature of the answer is to be checked. */
  readonly verifyTee?: boolean | undefined;
  readonly contentType: string;
  /** What is sent to this provider. */
  bodyFor(provider: Provider): Buffer;
};

/** Reads the form of a transcription. Throws `invalid_body` or `body_too_large`. */
export function readTranscriptionForm(bytes: Buffer, contentType: string): TranscriptionRequest {
  const form = readMultipart(bytes, contentType);
  const { model, response_format: format } = checkFields(FormTexts, textsOf(form));
  const files = form.parts.filter(({ filename }) => filename !== undefined);
  const [file] = files;
  if (files.length !== 1 || file?.name !== "file") throw fault("file", "one file must be sent");
  return toRequest(form, file, { model, format: format ?? "json", wishes: {} });
}

/** Reads a transcription in JSON. Throws `invalid_body` or `body_too_large`. */
export function readTranscriptionJson(body: Buffer): TranscriptionRequest {
  const fields = readFields(TRANSCRIPTION_REQUEST, body);
  const { model, language, prompt, response_format: format, temperature, filename } = fields;
  const bytes = Buffer.from(fields.file_base64, "base64");
  const file = { name: "file", filename, contentType: "application/octet-stream", bytes };
  const stated = { model, language, prompt, response_format: format, temperature };
  const parts = Object.entries(stated).flatMap(([name, value]) =>
    value == null ? [] : [{ name, bytes: Buffer.from(String(value)) }],
  );
  const wishes = readProviderWishes(fields.provider);
  const verifyTee = fields.verify_tee ?? false;
  return toRequest(newForm([...parts, file]), file, { model, format: format ?? "json", wishes, verifyTee });
}

function toRequest(
  form: Form,
  { bytes }: FormPart,
  told: Pick<TranscriptionRequest, "model" | "format" | "wishes" | "verifyTee">,
): TranscriptionRequest {
  if (bytes.length === 0) throw fault("file", "is empty");
  if (bytes.length > MAX_AUDIO_BYTES)
    throw new AppError("body_too_large", "The sound is longer than 25 MiB.", { param: "file" });
  const duration = audioDuration(bytes);
  return {
    ...told,
    duration,
    sizeBytes: bytes.length,
    contentType: form.contentType,
    bodyFor: (provider) => formBody(form, upstreamModel(provider)),
  };
}

function fault(param: string, what: string): AppError {
  return new AppError("invalid_body", `${param}: ${what}`, { param });
}
