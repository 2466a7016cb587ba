import { isUtf8 } from "node:buffer";
import type { AudioDuration } from "../audio/audio-duration.ts";
import type { TranscriptFormat, TranscriptionRequest } from "../audio/audio-request.ts";
import type { UnitUsage } from "../billing/pricing.ts";
import type { Bodies } from "../body/body-pool.ts";
import type { Edit } from "../body/json-member.ts";
import { type ProviderAnswer, refusalOf } from "../providers/exchange/provider-answer.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "./whole-answer.ts";

/** The assumed bit rate of audio of unknown length: 128 kbit/s. */
const USUAL_BYTES_PER_SECOND = 16_000;
/** The last timestamps of subtitles are at their end, so only that part is searched. */
const MAX_SEARCHED = 65_536;
/** Media types that are no text of a transcription. */
const OTHER_TYPE = /html|event-stream/;
/** How JSON begins: some servers label a text as JSON, and a text may begin with `[music]`. */
const JSON_START = /^\s*(?:\{|\[\s*[[{"\]]|null\s*$|$)/;
const MAX_START = 1_024;
/** WebVTT may begin with a byte order mark. */
const WEBVTT = /^\ufeff?WEBVTT/;
const STAMP = /-->[ \t]{0,8}(?:(\d{1,3}):)?(\d{2}):(\d{2})[.,](\d{3})/g;

/** The billed usage of a transcription: seconds of audio, rounded up. */
export type TranscriptReading = {
  readonly usage: UnitUsage;
  readonly estimated: boolean;
  readonly answerId: string | undefined;
  /** The edits that set `usage` where the provider's own is not what is billed, and show the cost in it. */
  readonly edits: readonly Edit[];
};

/** Usage of a transcription in OpenAI's format. */
type DurationUsage = { readonly type: "duration"; readonly seconds: number };

/**
 * Validates a transcription and determines its billed usage: the seconds that the audio itself proves, otherwise those
 * that the answer reports, otherwise an estimate by size. Throws a `ProviderFailure` for an invalid transcription, and
 * the provider's reason when it blames the request.
 */
export async function readTranscript(
  answer: ProviderAnswer,
  { format, duration, sizeBytes }: Pick<TranscriptionRequest, "format" | "duration" | "sizeBytes">,
  bodies: Bodies,
): Promise<TranscriptReading> {
  const read = isJson(format)
    ? await readJsonTranscript(answer, bodies)
    : { seconds: secondsOfText(answer, format), answerId: undefined, usage: undefined };
  const billed = billedSeconds(read.seconds, duration, sizeBytes);
  return {
    usage: audioUnits(billed.seconds),
    estimated: billed.isEstimate,
    answerId: read.answerId,
    edits: await bodies.findEdits(answer.body, {
      members: isJson(format) ? shownUsage(read.usage, billed.seconds) : {},
      showsCost: isJson(format),
    }),
  };
}

function billedSeconds(stated: number | undefined, duration: AudioDuration, sizeBytes: number) {
  if (duration.isExact) return { seconds: duration.seconds, isEstimate: false };
  if (stated !== undefined && stated > 0 && stated <= duration.seconds)
    return { seconds: Math.ceil(stated), isEstimate: false };
  const usual = Math.ceil(sizeBytes / USUAL_BYTES_PER_SECOND);
  return { seconds: Math.min(usual, duration.seconds), isEstimate: true };
}

/** The member `usage` of the answer, unless the provider's own equals the billed usage. */
function shownUsage(stated: unknown, seconds: number): { readonly usage?: DurationUsage } {
  return isDuration(stated, seconds) ? {} : { usage: { type: "duration", seconds } };
}

/** Whether a provider's usage is exactly this number of seconds. */
function isDuration(stated: unknown, seconds: number): boolean {
  if (typeof stated !== "object" || stated === null) return false;
  return "type" in stated && stated.type === "duration" && "seconds" in stated && stated.seconds === seconds;
}

/** Whether a transcription in this format is returned as JSON. */
export function isJson(format: TranscriptFormat): boolean {
  return format === "json" || format === "verbose_json";
}

/** The billed units for seconds of audio. */
export function audioUnits(seconds: number): UnitUsage {
  return { inputUnits: 0, outputUnits: seconds };
}

async function readJsonTranscript(answer: ProviderAnswer, bodies: Bodies) {
  const fields = await readAnswerObject(answer, bodies);
  const { text, duration, usage } = fields;
  if (typeof text !== "string") throw emptyAnswer("The provider's answer is not a transcription.");
  const used = typeof usage === "object" && usage !== null && "seconds" in usage ? usage.seconds : undefined;
  const seconds = [duration, used].map(Number).find((stated) => Number.isFinite(stated) && stated > 0);
  return { seconds, answerId: answerIdOf(fields), usage };
}

function secondsOfText(answer: ProviderAnswer, format: TranscriptFormat): number | undefined {
  const { status, contentType, body } = answer;
  if (status !== 200) throw refusalOf(answer, body);
  if (!isUtf8(body)) throw emptyAnswer("The provider's answer is not UTF-8.");
  const text = body.toString("utf8");
  if (
    OTHER_TYPE.test(contentType) ||
    (contentType.includes("json") && JSON_START.test(text.slice(0, MAX_START)))
  )
    throw emptyAnswer("The provider's answer is not a transcription.");
  if (format === "text") return undefined;
  if (format === "vtt" && !WEBVTT.test(text)) throw emptyAnswer("The provider's answer is not WebVTT.");
  const ends = [...text.slice(-MAX_SEARCHED).matchAll(STAMP)].map(
    ([, hours = "0", minutes, seconds, ms]) =>
      Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds) + Number(ms) / 1_000,
  );
  return ends.length > 0 ? Math.max(...ends) : undefined;
}
