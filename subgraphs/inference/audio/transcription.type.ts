import "../../shared/schema/reflect.ts";
import { Field, InputType, ObjectType } from "type-graphql";
import {
  readTranscriptionJson,
  type TranscriptionRequest,
} from "../../../src/inference/audio/audio-request.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType } from "../chat/chat.type.ts";
import { RoutingInput } from "../routing/routing.type.ts";

/** An audio file to transcribe. */
@InputType("TranscribeAudioInput", {
  description: "An audio file to transcribe. The request is limited to 256 KiB; send larger files over REST.",
})
export class TranscribeAudioInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "The audio file in base64." })
  fileBase64!: string;

  @Field(() => String, {
    nullable: true,
    description: "The file name; its extension states the format. Default: `audio.wav`.",
  })
  filename?: string | null;

  @Field(() => String, { nullable: true, description: "The spoken language, such as `en`." })
  language?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "Text that guides the transcription, such as names and terms.",
  })
  prompt?: string | null;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether to verify the provider's signature of the response. Default: false.",
  })
  verifyTee?: boolean | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Maps the input to the request that REST would parse. Throws `invalid_body`. */
export function toTranscriptionRequest(input: TranscribeAudioInput): TranscriptionRequest {
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

/** The transcription of an audio file. */
@ObjectType("Transcription", { description: "The transcription of an audio file.", simpleResolvers: true })
export class TranscriptionType {
  @Field(() => String, { description: "The transcribed text." })
  text!: string;

  @Field(() => String, {
    nullable: true,
    description: "The spoken language. Null if the provider does not report it.",
  })
  language!: string | null;

  @Field(() => [JsonScalar], {
    nullable: true,
    description:
      "Segments with their times in seconds, as in OpenAI's API. Null if the provider does not report them.",
  })
  segments!: readonly unknown[] | null;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("TranscribeAudioPayload", {
  description: "The result of `transcribeAudio`.",
  simpleResolvers: true,
})
export class TranscribeAudioPayload extends PayloadType {
  @Field(() => TranscriptionType, { nullable: true, description: "The transcription and its bill." })
  transcription?: TranscriptionType | null;
}
