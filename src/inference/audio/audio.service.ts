import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Caller } from "../billing/admitted.ts";
import { quoteUnits } from "../billing/pricing.ts";
import type { Bodies, BodyPool } from "../body/body-pool.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import { audioUnits, isJson, readTranscript } from "../chat/delivered-answer.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import { mergePreferences, type RoutingPreferences } from "../routing/routing-preferences.ts";
import { type TranscriptionRequest, transcriptionOf } from "./audio-request.ts";

const TRANSCRIPTIONS_PATH = "/audio/transcriptions";
const TYPES = {
  json: "application/json; charset=utf-8",
  verbose_json: "application/json; charset=utf-8",
  text: "text/plain; charset=utf-8",
  srt: "application/x-subrip; charset=utf-8",
  vtt: "text/vtt; charset=utf-8",
} as const;

type Dependencies = {
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies & Pick<BodyPool, "readTranscription">;
};

/** A transcription: the provider's own bytes; in JSON with the billed `usage` and `x_0g_trace`. */
export type Transcript = ShownAnswer & { readonly contentType: string };

/** Transcribes audio. Each call is charged once, per second of audio. */
export class AudioService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads a transcription request in JSON. Throws `invalid_body`, `body_too_large` and `unavailable`. */
  async readJson(body: Buffer): Promise<TranscriptionRequest> {
    return transcriptionOf(await this.#dependencies.bodies.readTranscription(body));
  }

  /**
   * Returns the transcription once its bill is committed. Throws what admission throws, `provider_error` when no
   * provider answers, and the provider's own reason when it rejects the request.
   */
  transcribe(
    request: TranscriptionRequest,
    caller: Caller,
    { signal, preferences }: { readonly signal: AbortSignal; readonly preferences: RoutingPreferences },
  ): Promise<Transcript> {
    return this.#dependencies.exchanges.track(this.#transcribe(request, caller, signal, preferences));
  }

  async #transcribe(
    request: TranscriptionRequest,
    caller: Caller,
    signal: AbortSignal,
    preferences: RoutingPreferences,
  ): Promise<Transcript> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(toAdmissionRequest(request, preferences), caller);
    const shown = await exchanges.collect(admitted, TRANSCRIPTIONS_PATH, {
      contentType: request.contentType,
      signal,
      read: (whole) => readTranscript(whole, request, bodies),
      ...(!isJson(request.format) && { show: async ({ body }) => body }),
    });
    return { ...shown, contentType: TYPES[request.format] };
  }
}

function toAdmissionRequest(
  request: TranscriptionRequest,
  preferences: RoutingPreferences,
): AdmissionRequest {
  return {
    model: request.model,
    serviceType: "speech-to-text",
    format: "openai",
    preferences: mergePreferences(request.preferences, preferences),
    verifyTee: request.verifyTee,
    guarded: request.guarded,
    quote: (price) => quoteUnits(audioUnits(request.duration.seconds), price),
    body: (provider) => request.bodyFor(provider),
  };
}
