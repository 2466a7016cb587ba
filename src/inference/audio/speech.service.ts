import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Caller } from "../billing/admitted.ts";
import { quoteUnits, type UnitUsage } from "../billing/pricing.ts";
import type { Bodies } from "../body/body-pool.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import { emptyAnswer, readAnswerObject } from "../chat/whole-answer.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import type { Reading } from "../dispatch/reading.ts";
import { guardedJson } from "../guardrails/guarded-request.ts";
import { type ProviderAnswer, refusalOf } from "../providers/exchange/provider-answer.ts";
import { mergePreferences, type RoutingPreferences } from "../routing/routing-preferences.ts";
import { SPEECH_TYPES, type SpeechRequest, speechBody } from "./speech-request.ts";

const SPEECH_PATH = "/audio/speech";
/** The longest text as WAV: 18 minutes of 48 kB a second. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;

const AUDIO_TYPE = /^audio\/[a-z0-9.+-]{1,64}$/;
/** Without the rate and the channels of raw samples (RFC 2586, RFC 3190), a client cannot play them. */
const PARAMETERS = /^(?:; ?[a-z0-9_.+-]{1,64}=(?:[\w.+-]{1,64}|"[\w.+, -]{1,64}")){1,8}$/i;
const UNKNOWN_TYPE = "application/octet-stream";

/** How to speak a text. A provider's audio of more than `maxBytes`, by default 64 MiB, is a failure. */
type SpeakOptions = {
  readonly signal: AbortSignal;
  readonly preferences: RoutingPreferences;
  readonly maxBytes?: number;
};

type Dependencies = {
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies;
};

/** Spoken text: the provider's own bytes, and their media type. */
export type Speech = ShownAnswer & { readonly contentType: string };

/** Speaks texts. Each call is charged once, per character of its text. */
export class SpeechService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the audio once its bill is committed. Throws what admission throws, `provider_error` when no provider
   * answers, and the provider's own reason when it rejects the request.
   */
  speak(request: SpeechRequest, caller: Caller, options: SpeakOptions): Promise<Speech> {
    return this.#dependencies.exchanges.track(this.#speak(request, caller, options));
  }

  async #speak(
    request: SpeechRequest,
    caller: Caller,
    { signal, preferences, maxBytes = MAX_ANSWER_BYTES }: SpeakOptions,
  ): Promise<Speech> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(toAdmissionRequest(request, preferences), caller);
    let contentType = SPEECH_TYPES[request.format];
    const shown = await exchanges.collect(admitted, SPEECH_PATH, {
      signal,
      maxBytes,
      read: async (answer) => {
        contentType = await audioTypeOf(answer, SPEECH_TYPES[request.format], bodies);
        return readingOf(request);
      },
      show: async ({ body }) => body,
    });
    return { ...shown, contentType };
  }
}

/**
 * The media type of an answer: the provider's, or that of the requested format if it states none. Throws a
 * `ProviderFailure` for an answer that is no audio, and the provider's reason when it blames the request.
 */
async function audioTypeOf(answer: ProviderAnswer, requested: string, bodies: Bodies): Promise<string> {
  if (answer.status !== 200) throw refusalOf(answer, answer.body);
  const [type = ""] = answer.contentType.split(";");
  const stated = type.trim().toLowerCase();
  // Throws the failure that the JSON states.
  if (stated.endsWith("json")) await readAnswerObject(answer, bodies);
  const isAudio = AUDIO_TYPE.test(stated);
  if (answer.body.length === 0 || !(isAudio || stated === "" || stated === UNKNOWN_TYPE))
    throw emptyAnswer("The provider's answer is not audio.");
  if (!isAudio) return requested;
  const parameters = answer.contentType.slice(type.length);
  return PARAMETERS.test(parameters) ? stated + parameters : stated;
}

function readingOf({ characters }: SpeechRequest): Reading {
  return { usage: characterUnits(characters), estimated: false };
}

function toAdmissionRequest(request: SpeechRequest, preferences: RoutingPreferences): AdmissionRequest {
  return {
    model: request.model,
    serviceType: "text-to-speech",
    format: "openai",
    preferences: mergePreferences(request.preferences, preferences),
    verifyTee: request.verifyTee,
    guarded: guardedJson(request.bytes.length, request.fields),
    quote: (price) => quoteUnits(characterUnits(request.characters), price),
    body: (provider) => speechBody(request, provider),
  };
}

/** The billed units for a number of characters. */
function characterUnits(characters: number): UnitUsage {
  return { inputUnits: 0, outputUnits: characters };
}
