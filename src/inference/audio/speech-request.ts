import { z } from "zod";
import { forwardedBody, type RequestFields, readFields, upstreamModel } from "../body/request-fields.ts";
import { shortText } from "../body/text-schema.ts";
import type { Provider } from "../providers/provider.ts";
import { NO_FALLBACK_MODELS, PROVIDER_OBJECT, providerPreferences } from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";

/** The formats of spoken audio in OpenAI's API. A provider may answer in another one, and says so. */
const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

/** The media types of the formats, as OpenAI's API answers them. */
export const SPEECH_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/** Four times the limit of OpenAI's API: 18 minutes of speech, 52 MB as WAV. */
export const MAX_SPEECH_CHARACTERS = 16_384;
/** As bytes of JSON: a character is at most two escapes of six bytes. */
export const MAX_SPEECH_BODY_BYTES = 12 * MAX_SPEECH_CHARACTERS + 65_536;

const VOICE = z.union([shortText(256), z.looseObject({ id: shortText(256) })]);

/** The fields that the router reads; the provider validates all others. OpenAPI publishes this schema. */
export const SPEECH_REQUEST = z
  .looseObject({
    model: shortText(256),
    models: NO_FALLBACK_MODELS,
    input: z
      .string()
      .min(1)
      .refine(isBounded, `must have at most ${MAX_SPEECH_CHARACTERS} characters`)
      .meta({ maxLength: MAX_SPEECH_CHARACTERS }),
    voice: VOICE,
    instructions: z.string().max(MAX_SPEECH_CHARACTERS).nullish(),
    response_format: z.enum(SPEECH_FORMATS).nullish(),
    speed: z.number().min(0.25).max(4).nullish(),
    stream_format: z.literal("audio", "speech is returned as audio, not as events").nullish(),
    verify_tee: z.boolean().nullish(),
    provider: PROVIDER_OBJECT,
  })
  .meta({ id: "SpeechRequest" });

/** A request for speech, reduced to what the router reads. */
export type SpeechRequest = RequestFields & {
  readonly model: string;
  /** The number of characters to speak, which is billed: Unicode code points. */
  readonly characters: number;
  readonly format: SpeechFormat;
  /** Whether to verify the provider's signature of the audio. */
  readonly verifyTee: boolean;
  /** The preferences of its `provider` object. */
  readonly preferences: RoutingPreferences;
};

/** Reads a request for speech. Throws `invalid_body` naming the invalid field. */
export function readSpeechRequest(bytes: Buffer): SpeechRequest {
  const fields = readFields(SPEECH_REQUEST, bytes);
  return {
    model: fields.model,
    characters: charactersIn(fields.input),
    format: fields.response_format ?? "mp3",
    verifyTee: fields.verify_tee ?? false,
    preferences: providerPreferences(fields.provider),
    bytes,
    fields,
  };
}

/** The body for this provider: the client's own bytes if nothing changes. */
export function speechBody(request: SpeechRequest, provider: Provider): Buffer {
  return forwardedBody(request, upstreamModel(provider));
}

function isBounded(text: string): boolean {
  return text.length <= 2 * MAX_SPEECH_CHARACTERS && charactersIn(text) <= MAX_SPEECH_CHARACTERS;
}

function charactersIn(text: string): number {
  let characters = 0;
  for (const _ of text) characters++;
  return characters;
}
