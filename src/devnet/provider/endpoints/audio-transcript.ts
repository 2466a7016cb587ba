import { createHash } from "node:crypto";
import { audioDuration } from "../../../inference/audio/audio-duration.ts";
import { generateWords } from "./completion.ts";
import type { Form } from "./form.ts";

/** A transcription request, read from its form. */
export type TranscriptionRequest = {
  readonly model: string;
  readonly language: string;
  readonly format: string;
  readonly audio: Buffer;
  /** What the times are given for: segments, words, or both. */
  readonly granularities: readonly string[];
};

type Segment = { readonly id: number; readonly start: number; readonly end: number; readonly text: string };

const SECONDS_PER_SEGMENT = 4;
const MAX_SEGMENTS = 50;
const WORDS_PER_SEGMENT = 6;
/** Whisper reads audio in windows; `seek` is the first frame of a segment's window. */
const WINDOW_SECONDS = 30;
const FRAMES_PER_SECOND = 100;
/** The first token of a text in Whisper's vocabulary after `<|0.00|>`. */
const FIRST_TOKEN = 50_364;
const FORMATS = ["json", "text", "srt", "verbose_json", "vtt"];

/** Reads the form of a transcription; undefined for an invalid one. */
export function readTranscriptionRequest({ fields, files }: Form): TranscriptionRequest | undefined {
  const model = fields.get("model");
  const audio = files.get("file")?.bytes;
  const format = fields.get("response_format") ?? "json";
  if (model === undefined || audio === undefined || audio.length === 0 || !FORMATS.includes(format))
    return undefined;
  const granularities = (fields.get("timestamp_granularities[]") ?? "segment").split(",");
  return { model, audio, format, granularities, language: fields.get("language") ?? "en" };
}

/** Generates a transcript from the audio bytes alone: its content type and its text. */
export function transcribe({ audio, format, language, granularities }: TranscriptionRequest): {
  readonly contentType: string;
  readonly text: string;
} {
  const { seconds } = audioDuration(audio);
  const segments = toSegments(audio, seconds);
  const text = segments.map((segment) => segment.text).join(" ");
  if (format === "text") return { contentType: "text/plain; charset=utf-8", text: `${text}\n` };
  if (format === "srt")
    return { contentType: "text/plain; charset=utf-8", text: segments.map(toSrt).join("\n") };
  if (format === "vtt")
    return { contentType: "text/vtt; charset=utf-8", text: `WEBVTT\n\n${segments.map(toVtt).join("\n")}` };
  const usage = { type: "duration", seconds };
  const plain = { text, usage };
  const verbose = {
    ...{ task: "transcribe", language, duration: seconds, text },
    ...(granularities.includes("segment") && { segments: segments.map(toVerbose) }),
    ...(granularities.includes("word") && { words: segments.flatMap(toWords) }),
    usage,
  };
  return {
    contentType: "application/json",
    text: JSON.stringify(format === "json" ? plain : verbose),
  };
}

function toSegments(audio: Buffer, seconds: number): readonly Segment[] {
  const digest = createHash("sha256").update(audio).digest();
  const count = Math.min(MAX_SEGMENTS, Math.ceil(seconds / SECONDS_PER_SEGMENT));
  return Array.from({ length: count }, (_, id) => ({
    id,
    start: (id * seconds) / count,
    end: ((id + 1) * seconds) / count,
    text: generateWords(digest.readUInt32LE(id % 29) + id, WORDS_PER_SEGMENT).join(""),
  }));
}

/** A segment with the figures that OpenAI's has. Its tokens are made up, one per word. */
function toVerbose(segment: Segment): object {
  const { id, start, end, text } = segment;
  const seek = Math.floor(start / WINDOW_SECONDS) * WINDOW_SECONDS * FRAMES_PER_SECOND;
  const tokens = toWords(segment).map((_, n) => FIRST_TOKEN + id * WORDS_PER_SEGMENT + n);
  const figures = { temperature: 0, avg_logprob: -0.25, compression_ratio: 1.2, no_speech_prob: 0.01 };
  return { id, seek, start, end, text, tokens, ...figures };
}

/** The words of a segment, each with an equal share of its time. */
function toWords({ start, end, text }: Segment): readonly object[] {
  const words = text.split(/ +/).filter(Boolean);
  const each = (end - start) / words.length;
  return words.map((word, n) => ({ word, start: start + n * each, end: start + (n + 1) * each }));
}

function toSrt({ id, start, end, text }: Segment): string {
  return `${id + 1}\n${stamp(start, ",")} --> ${stamp(end, ",")}\n${text}\n`;
}

function toVtt({ start, end, text }: Segment): string {
  return `${stamp(start, ".")} --> ${stamp(end, ".")}\n${text}\n`;
}

function stamp(seconds: number, separator: string): string {
  const ms = Math.round(seconds * 1_000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const clock = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1_000) % 60].map(two).join(":");
  return `${clock}${separator}${String(ms % 1_000).padStart(3, "0")}`;
}
