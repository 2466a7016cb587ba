import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import type { Transcript } from "../../../src/inference/audio/audio.service.ts";
import type { TranscriptionRequest } from "../../../src/inference/audio/audio-request.ts";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { isJson } from "../../../src/inference/chat/delivered-answer.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toBill } from "../chat/chat.type.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import {
  TranscribeAudioInput,
  TranscribeAudioPayload,
  type TranscriptionType,
  toTranscriptionRequest,
} from "./transcription.type.ts";

/** Audio transcription. */
@Resolver()
export class TranscriptionResolver {
  @Mutation(() => TranscribeAudioPayload, {
    nullable: true,
    description:
      "Transcribes an audio file. Billed even if the client disconnects before the response. Requires an `sk-` key.",
  })
  async transcribeAudio(
    @Arg("input", () => TranscribeAudioInput, { description: "The audio file and its options." })
    { idempotencyKey: key, ...input }: TranscribeAudioInput,
    @Ctx() context: Context,
  ): Promise<TranscribeAudioPayload> {
    const { services, principal } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    return answerMutation(input, async () => {
      const body = await runOnce(
        context,
        { ...caller, field: "transcribeAudio", key, input, isBilled: true },
        async () => {
          const options = { signal, preferences: toPreferences(input.routing) };
          const request = toTranscriptionRequest(input);
          return toStored(
            await services.audio.transcribe(request, tagged(caller, input.tags), options),
            request,
          );
        },
      );
      return { transcription: toTranscription(JSON.parse(body.toString("utf8")) as Answer) };
    });
  }
}

/** A transcription as REST answers it in JSON; a document has no more than its text. */
type Answer = {
  readonly text: string;
  readonly language?: string | null;
  readonly duration?: unknown;
  readonly segments?: readonly unknown[] | null;
  readonly words?: unknown;
  readonly usage?: { readonly seconds?: number };
  readonly x_0g_trace: Trace;
};

type Word = NonNullable<TranscriptionType["words"]>[number];

/** What is stored for a repeated call: JSON with the bill, whatever the format. */
function toStored({ body, trace }: Transcript, { format }: TranscriptionRequest): Buffer {
  if (isJson(format)) return body;
  return Buffer.from(JSON.stringify({ text: body.toString("utf8"), x_0g_trace: trace }));
}

function toTranscription(answer: Answer): TranscriptionType {
  const { text, language, segments, words, usage, x_0g_trace: trace } = answer;
  const duration = Number(answer.duration ?? Number.NaN);
  return {
    text,
    language: language ?? null,
    segments: Array.isArray(segments) ? segments : null,
    words: Array.isArray(words) && words.every(isWord) ? words : null,
    durationSeconds: Number.isFinite(duration) ? duration : null,
    billedSeconds: usage?.seconds ?? null,
    bill: toBill(trace),
  };
}

function isWord(value: unknown): value is Word {
  if (typeof value !== "object" || value === null) return false;
  const { word, start, end } = value as Partial<Record<keyof Word, unknown>>;
  return typeof word === "string" && Number.isFinite(start) && Number.isFinite(end);
}
