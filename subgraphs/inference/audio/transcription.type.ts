import "../../shared/schema/reflect.ts";
import { Field, InputType, ObjectType } from "type-graphql";
import {
  readTranscriptionJson,
  type TranscriptionRequest,
} from "../../../src/inference/audio/audio-request.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { InferenceBillType } from "../chat/chat.type.ts";
import { RoutingInput } from "../routing/routing.type.ts";

/** A sound to be written down. */
@InputType("TranscriptionInput", {
  description: "A sound to be written down. The whole request may have 256 KiB; longer sounds go to REST.",
})
export class TranscriptionInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "The sound's file in base64." })
  fileBase64!: string;

  @Field(() => String, {
    nullable: true,
    description: "The file name; its extension states the format. Default: `audio.wav`.",
  })
  filename?: string | null;

  @Field(() => String, { nullable: true, description: "The language that is spoken, such as `en`." })
  language?: string | null;

  @Field(() => String, { nullable: true, description: "Words that help to understand." })
  prompt?: string | null;

  @Field(() => RoutingInput, { nullable: true, description: "How to choose the provider." })
  routing?: RoutingInput | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether to check the provider's signature of the answer.",
  })
  verifyTee?: boolean | null;
}

/** The request that an input means: the one that REST would read. Throws `invalid_body`. */
export function toTranscriptionRequest(input: TranscriptionInput): TranscriptionRequest {
  const { model, fileBase64, filename, language, prompt, verifyTee } = input;
  const body = {
    model,
    file_base64: fileBase64,
    ...(filename != null && { filename }),
    language,
    prompt,
    response_format: "verbose_json",
    verify_tee: verifyTee ?? false,
  };
  return readTranscriptionJson(Buffer.from(JSON.stringify(body)));
}

/** What was said. */
@ObjectType("Transcription", { description: "What was said in a sound.", simpleResolvers: true })
export class TranscriptionType {
  @Field(() => String, { description: "What was said." })
  text!: string;

  @Field(() => String, {
    nullable: true,
    description: "The language that was spoken, where the provider tells.",
  })
  language!: string | null;

  @Field(() => [JsonScalar], {
    nullable: true,
    description: "Its parts with their times in seconds, as OpenAI's API has them, where the provider tells.",
  })
  segments!: readonly unknown[] | null;

  @Field(() => InferenceBillType, { description: "What it cost, and who answered." })
  bill!: InferenceBillType;
}
