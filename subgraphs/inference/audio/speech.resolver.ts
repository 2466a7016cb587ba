import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import type { Speech } from "../../../src/inference/audio/speech.service.ts";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import { ANSWER_COPIES } from "../../shared/answer-allowance.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toBill } from "../chat/chat.type.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import { CreateSpeechInput, CreateSpeechPayload, type SpeechType, toSpeechRequest } from "./speech.type.ts";

/** 16 MiB in base64, which one operation may return. */
const MAX_AUDIO_BYTES = 12 * 1_048_576;
const LINE_END = 10;

/** Text to speech. */
@Resolver()
export class SpeechResolver {
  @Mutation(() => CreateSpeechPayload, {
    nullable: true,
    description:
      "Converts a text to speech. Billed per character, even if the client disconnects before the response. Requires an `sk-` key.",
  })
  async createSpeech(
    @Arg("input", () => CreateSpeechInput, { description: "The text and its voice." })
    { idempotencyKey: key, ...input }: CreateSpeechInput,
    @Ctx() context: Context,
  ): Promise<CreateSpeechPayload> {
    const { services, principal, answerAllowance, memory } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    answerAllowance.requireRoom("createSpeech");
    return answerMutation(input, async () => {
      const stored = await runOnce(
        context,
        { ...caller, field: "createSpeech", key, input, isBilled: true },
        async () => {
          const request = toSpeechRequest(input);
          const options = { signal, preferences: toPreferences(input.routing), maxBytes: MAX_AUDIO_BYTES };
          return toStored(
            await services.speech.speak(request, tagged(caller, input.tags), options),
            request.characters,
          );
        },
      );
      // The audio was billed: it is counted, but no longer refused.
      answerAllowance.add(stored.length);
      memory.charge(ANSWER_COPIES * stored.length);
      return { speech: toSpeech(stored) };
    });
  }
}

/** What a repeated call needs besides the audio. */
type Facts = { readonly contentType: string; readonly characters: number; readonly trace: Trace };

/** A line of JSON and the audio: as one JSON text, the audio would be parsed as well. */
function toStored({ body, contentType, trace }: Speech, characters: number): Buffer {
  const facts: Facts = { contentType, characters, trace };
  return Buffer.concat([Buffer.from(`${JSON.stringify(facts)}\n`), body]);
}

function toSpeech(stored: Buffer): SpeechType {
  const end = stored.indexOf(LINE_END);
  const { trace, ...facts } = JSON.parse(stored.toString("utf8", 0, end)) as Facts;
  return { ...facts, audioBase64: stored.toString("base64", end + 1), bill: toBill(trace) };
}
