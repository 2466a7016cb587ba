import type { TimestampGranularity, TranscriptFormat } from "../../../src/inference/audio/audio-request.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

/** What a provider returns of a transcription. */
export const TranscriptionFormat = defineEnum<TranscriptFormat>(
  "TranscriptionFormat",
  "What a provider returns of a transcription.",
  {
    json: "The text.",
    verbose_json: "The text, with its language, duration and times as far as the provider reports them.",
    text: "The text alone, as a document.",
    srt: "Subtitles as an SRT document.",
    vtt: "Subtitles as a WebVTT document.",
  },
);

/** What the times of a transcription are given for. */
export const TimestampGranularityEnum = defineEnum<TimestampGranularity>(
  "TimestampGranularity",
  "What the times of a transcription are given for.",
  {
    segment: "Its segments, of about a sentence each.",
    word: "Its words.",
  },
);
