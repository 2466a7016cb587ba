import type { TimestampGranularity, TranscriptFormat } from "../../../src/inference/audio/audio-request.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

/** The form in which a transcription is returned. */
export const TranscriptionFormat = defineEnum<TranscriptFormat>(
  "TranscriptionFormat",
  "The form in which a transcription is returned.",
  {
    json: "The text.",
    verbose_json: "The text, with its language, duration and times as far as the provider reports them.",
    text: "The text alone, as a document.",
    srt: "Subtitles as an SRT document.",
    vtt: "Subtitles as a WebVTT document.",
  },
);

/** The units of a transcription whose times are returned. */
export const TimestampGranularityEnum = defineEnum<TimestampGranularity>(
  "TimestampGranularity",
  "The units of a transcription whose times are returned.",
  {
    segment: "Segments of about a sentence each.",
    word: "Words.",
  },
);
