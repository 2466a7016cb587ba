import { z } from "zod";
import {
  MAX_SPEECH_BODY_BYTES,
  readSpeechRequest,
  SPEECH_REQUEST,
  SPEECH_TYPES,
} from "../../../inference/audio/speech-request.ts";
import { callerOf, inferenceBytes } from "../../inference-call.ts";
import { defineRoute } from "../../route.ts";
import { routingHeaders } from "../../routing-headers.ts";

const AUDIO = z.string().meta({ format: "binary", description: "The audio, as the provider encoded it." });

/** POST /v1/audio/speech: OpenAI's text to speech. Beyond SPEC (schema/choices.md). */
export const createSpeech = defineRoute({
  method: "POST",
  url: "/v1/audio/speech",
  summary: "Create speech",
  access: "inference.run",
  isAdmitted: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": SPEECH_REQUEST },
  answer: {
    media: Object.fromEntries([...Object.values(SPEECH_TYPES), "audio/*"].map((type) => [type, AUDIO])),
  },
  bodyLimitBytes: MAX_SPEECH_BODY_BYTES,
  repetition: "billed",
  async handle(app, call) {
    const { body, signal, headers: preferences } = call;
    const caller = callerOf(call);
    const speech = await app.speech.speak(readSpeechRequest(body), caller, { signal, preferences });
    return inferenceBytes(speech, {
      "content-type": speech.contentType,
      "x-0g-trace": JSON.stringify(speech.trace),
    });
  },
});
