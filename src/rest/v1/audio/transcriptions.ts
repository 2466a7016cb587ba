import { z } from "zod";
import {
  MAX_AUDIO_BYTES,
  readTranscriptionForm,
  TRANSCRIPTION_FORM,
  TRANSCRIPTION_REQUEST,
} from "../../../inference/audio/audio-request.ts";
import { withVerification } from "../../../inference/guardrails/guarded-request.ts";
import { mediaTypeOf } from "../../http/headers.ts";
import { callerOf, contentTypeOf, inferenceBytes } from "../../inference-call.ts";
import { defineRoute } from "../../route.ts";
import { routingHeaders } from "../../routing-headers.ts";
import { trace, usageCost } from "../../wire.ts";

/** The largest audio file in base64, plus the other fields. */
const MAX_BODY_BYTES = Math.ceil((MAX_AUDIO_BYTES * 4) / 3) + 65_536;
const JSON_TYPE = "application/json";
const FORM_TYPE = "multipart/form-data";

const TRANSCRIPT = z
  .looseObject({
    text: z.string(),
    language: z.string().optional(),
    duration: z.number().optional(),
    usage: z
      .strictObject({ type: z.literal("duration"), seconds: z.int().min(0), ...usageCost })
      .meta({ description: "The seconds of audio that were billed." }),
    x_0g_trace: trace,
  })
  .meta({ id: "Transcript" });

/** POST /v1/audio/transcriptions (SPEC 4.1, facts 1.2): the transcript, in five formats. */
export const createTranscription = defineRoute({
  method: "POST",
  url: "/v1/audio/transcriptions",
  summary: "Transcribe audio",
  access: "inference.run",
  isAdmitted: true,
  headers: routingHeaders,
  query: z.object({ verify_tee: z.enum(["true", "false"]).optional() }),
  body: "bytes",
  bodies: { [FORM_TYPE]: TRANSCRIPTION_FORM, [JSON_TYPE]: TRANSCRIPTION_REQUEST },
  answer: {
    json: TRANSCRIPT,
    media: { "text/plain": z.string(), "application/x-subrip": z.string(), "text/vtt": z.string() },
  },
  bodyLimitBytes: MAX_BODY_BYTES,
  repetition: "billed",
  async handle(app, call) {
    const { body, signal, query, headers: preferences } = call;
    const caller = callerOf(call);
    const contentType = contentTypeOf(call, [JSON_TYPE, FORM_TYPE]);
    const read =
      mediaTypeOf(contentType) === JSON_TYPE
        ? await app.audio.readJson(body)
        : await readTranscriptionForm(body, contentType);
    const request = query.verify_tee === "true" ? withVerification(read) : read;
    const transcript = await app.audio.transcribe(request, caller, { signal, preferences });
    return inferenceBytes(transcript, {
      "content-type": transcript.contentType,
      "x-0g-trace": JSON.stringify(transcript.trace),
    });
  },
});
