import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { readBase64 } from "../../kernel/text/base64.ts";
import { shortString, withAtMost } from "../../kernel/text/characters.ts";
import { type Form, type FormPart, formBody, newForm, readMultipart } from "../../kernel/text/multipart.ts";
import { FORM_VERIFY_TEE, readFormFields } from "../body/form-fields.ts";
import { invalidField } from "../body/invalid-field.ts";
import { EXTENSIONS, readFields, upstreamModel } from "../body/request-fields.ts";
import { type GuardedRequest, guardedJson } from "../guardrails/guarded-request.ts";
import type { Provider } from "../providers/provider.ts";
import { NO_FALLBACK_MODELS, PROVIDER_OBJECT, providerPreferences } from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import { type AudioDuration, audioDuration } from "./audio-duration.ts";

/** The output formats of a transcription (facts 1.2). */
const TRANSCRIPT_FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** What the times of a verbose transcription are given for. */
const GRANULARITIES = ["word", "segment"] as const;
export type TimestampGranularity = (typeof GRANULARITIES)[number];

/** Maximum size of an audio file, bytes. */
export const MAX_AUDIO_BYTES = 25 * 1_048_576;

const texts = {
  model: shortString(256),
  models: NO_FALLBACK_MODELS,
  language: shortString(64).nullish(),
  prompt: withAtMost(z.string(), 32_000).nullish(),
  response_format: z.enum(TRANSCRIPT_FORMATS).nullish(),
};
const NOT_STREAMED = "transcriptions cannot be streamed";

const FormTexts = z.looseObject({
  ...texts,
  stream: z.literal("false", NOT_STREAMED).optional(),
  verify_tee: FORM_VERIFY_TEE,
});

/** The multipart form of a transcription with its file, for OpenAPI; other fields are forwarded to the provider. */
export const TRANSCRIPTION_FORM = z
  .looseObject({
    ...FormTexts.shape,
    file: z.string().meta({ format: "binary", description: "The audio file, 25 MiB at most." }),
  })
  .meta({ id: "TranscriptionForm" });

/** A transcription request in JSON: the audio is base64 or a `data:` URL, `filename` gives its type (facts 1.2). */
export const TRANSCRIPTION_REQUEST = z
  .looseObject({
    ...texts,
    file_base64: z.string().min(1),
    filename: z.string().min(1).max(255).optional(),
    temperature: z.number().nullish(),
    timestamp_granularities: z.array(z.enum(GRANULARITIES)).max(GRANULARITIES.length).nullish(),
    stream: z.literal(false, NOT_STREAMED).nullish(),
    provider: PROVIDER_OBJECT,
    verify_tee: z.boolean().nullish(),
  })
  .meta({ id: "TranscriptionRequest" });

/** A transcription request, reduced to what the router reads. */
export type TranscriptionRequest = {
  readonly model: string;
  readonly format: TranscriptFormat;
  readonly duration: AudioDuration;
  readonly sizeBytes: number;
  readonly preferences: RoutingPreferences;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee?: boolean | undefined;
  /** What the guardrails of a key are compared with. */
  readonly guarded: GuardedRequest;
  readonly contentType: string;
  /** The body to send to this provider. */
  bodyFor(provider: Provider): Buffer;
};

/** Reads a transcription request from a multipart form. Throws `invalid_body` or `body_too_large`. */
export async function readTranscriptionForm(
  bytes: Buffer,
  contentType: string,
): Promise<TranscriptionRequest> {
  const sent = await readMultipart(bytes, contentType);
  const { texts, form, verifyTee, guarded } = readFormFields(FormTexts, sent, bytes.length);
  const { model, response_format: format } = texts;
  const files = form.parts.filter(({ filename }) => filename !== undefined);
  const [file] = files;
  if (files.length !== 1 || file?.name !== "file") throw invalidField("file", "exactly one file is required");
  const common = { model, format: format ?? "json", preferences: {}, verifyTee, guarded };
  return toRequest(form, { file, field: "file" }, common);
}

/** A decoded JSON transcription request, made of plain values that can be passed between threads. */
export type DecodedTranscription = Pick<TranscriptionRequest, "model" | "format" | "preferences"> & {
  readonly verifyTee: boolean;
  readonly filename: string;
  /** The fields for the provider, as text fields of a form: names that end with `[]` may be repeated. */
  readonly texts: readonly (readonly [name: string, text: string])[];
  /** The audio file. */
  readonly bytes: Uint8Array;
  /** The fields of the body without the file, and its size in bytes. */
  readonly sent: { readonly fields: Readonly<Record<string, unknown>>; readonly sizeBytes: number };
};

/**
 * Reads a transcription request in JSON. One of 25 MiB takes 200 ms, so long ones are read on a `BodyPool` thread.
 * Throws `invalid_body`.
 */
export function decodeTranscription(body: Buffer): DecodedTranscription {
  const fields = readFields(TRANSCRIPTION_REQUEST, body);
  const { model, response_format: format, timestamp_granularities: times } = fields;
  if (Object.hasOwn(fields, "file")) throw invalidField("file", "must be sent as file_base64");
  const { bytes, extension } = decodeAudio(fields.file_base64);
  const forwarded = { ...withoutOwnFields(fields), timestamp_granularities: times && [...new Set(times)] };
  const texts = Object.entries(forwarded).flatMap(([name, value]) => [...formTexts(name, value)]);
  if (texts.length > MAX_TEXTS) throw invalidField("body", `may have at most ${MAX_TEXTS} values`);
  return {
    model,
    format: format ?? "json",
    preferences: providerPreferences(fields.provider),
    verifyTee: fields.verify_tee ?? false,
    filename: fields.filename ?? `audio.${extension}`,
    texts,
    bytes,
    sent: { fields: withoutFile(fields), sizeBytes: body.length },
  };
}

/** The fields that the router reads itself. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...EXTENSIONS,
  "file_base64",
  "filename",
  "models",
  "stream",
]);
const MAX_TEXTS = 256;

function withoutOwnFields(fields: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !OWN_FIELDS.has(name)));
}

/** A value as fields of a form, in the names that OpenAI's clients give to lists (`a[]`) and to members (`a[b]`). */
function* formTexts(name: string, value: unknown): Generator<readonly [name: string, text: string]> {
  if (value == null) return;
  if (Array.isArray(value)) for (const item of value) yield* formTexts(`${name}[]`, item);
  else if (typeof value === "object")
    for (const [member, inner] of Object.entries(value)) yield* formTexts(`${name}[${member}]`, inner);
  else yield [name, String(value)];
}

function withoutFile({ file_base64: _, ...fields }: Readonly<Record<string, unknown>>) {
  return fields;
}

/** RFC 2397: a media type, its parameters and the `base64` marker. */
const DATA_URL = /^data:([^;,]{0,128})((?:;[^;,]{1,128}){0,8}),/i;
/** By the media types that browsers send; every other subtype is its own extension, such as `audio/flac`. */
const FILE_EXTENSIONS: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  mp4: "m4a",
  "x-m4a": "m4a",
  "x-wav": "wav",
  "vnd.wave": "wav",
  wave: "wav",
  "x-flac": "flac",
};

/** Decodes base64, with or without line breaks, or a base64 `data:` URL. Without a media type the audio is WAV. */
function decodeAudio(text: string): { readonly bytes: Buffer; readonly extension: string } {
  const [prefix = "", type = "", parameters = ""] = DATA_URL.exec(text.slice(0, MAX_DATA_URL_PREFIX)) ?? [];
  if (prefix !== "" && !/;base64$/i.test(parameters)) throw invalidField("file_base64", NOT_BASE64);
  const data = text.slice(prefix.length);
  const bytes = readBase64(/[\r\n]/.test(data) ? data.replace(/[\r\n]+/g, "") : data);
  if (!bytes) throw invalidField("file_base64", NOT_BASE64);
  const [, subtype = "wav"] = /^(?:audio|video)\/([a-z0-9.-]+)$/i.exec(type) ?? [];
  const name = subtype.toLowerCase();
  return { bytes, extension: FILE_EXTENSIONS[name] ?? name };
}

const MAX_DATA_URL_PREFIX = 2_048;
const NOT_BASE64 = "must be base64 in the standard alphabet, padded, or a data: URL of it";

/** Reads a JSON transcription request of at most 512 KiB. Throws `invalid_body` or `body_too_large`. */
export function readTranscriptionJson(body: Buffer): TranscriptionRequest {
  return transcriptionOf(decodeTranscription(body));
}

/** Converts a decoded JSON request into a form for the provider. Throws `invalid_body` or `body_too_large`. */
export function transcriptionOf({
  texts,
  filename,
  bytes: audio,
  sent,
  ...common
}: DecodedTranscription): TranscriptionRequest {
  const bytes = Buffer.from(audio.buffer, audio.byteOffset, audio.length);
  const file = { name: "file", filename, contentType: "application/octet-stream", bytes };
  const parts = texts.map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  return toRequest(
    newForm([...parts, file]),
    { file, field: "file_base64" },
    {
      ...common,
      guarded: guardedJson(sent.sizeBytes, sent.fields),
    },
  );
}

function toRequest(
  form: Form,
  { file: { bytes }, field }: { readonly file: FormPart; readonly field: "file" | "file_base64" },
  common: Pick<TranscriptionRequest, "model" | "format" | "preferences" | "verifyTee" | "guarded">,
): TranscriptionRequest {
  if (bytes.length === 0) throw invalidField(field, "is empty");
  if (bytes.length > MAX_AUDIO_BYTES)
    throw new AppError("body_too_large", "The audio file is larger than 25 MiB.", { param: field });
  const duration = audioDuration(bytes);
  return {
    ...common,
    duration,
    sizeBytes: bytes.length,
    contentType: form.contentType,
    bodyFor: (provider) => formBody(form, upstreamModel(provider)),
  };
}
