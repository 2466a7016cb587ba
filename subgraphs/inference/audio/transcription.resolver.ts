import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/admitted.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toBill } from "../chat/chat.type.ts";
import { toPreferences } from "../routing/routing.type.ts";
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
    return answerMutation(async () => {
      const body = await runOnce(context, { ...caller, field: "transcribeAudio", key, input }, async () => {
        const options = { signal, preferences: toPreferences(input.routing) };
        return (await services.audio.transcribe(toTranscriptionRequest(input), caller, options)).body;
      });
      return { transcription: toTranscription(JSON.parse(body.toString("utf8")) as Answer) };
    });
  }
}

type Answer = {
  readonly text: string;
  readonly language?: string | null;
  readonly segments?: readonly unknown[] | null;
  readonly x_0g_trace: Trace;
};

function toTranscription({ text, language, segments, x_0g_trace: trace }: Answer): TranscriptionType {
  return {
    text,
    language: language ?? null,
    segments: Array.isArray(segments) ? segments : null,
    bill: toBill(trace),
  };
}
