import "../../shared/schema/reflect.ts";
import { Field, Float, InputType, Int, ObjectType } from "type-graphql";
import {
  readTranscriptionJson,
  type TimestampGranularity,
  type TranscriptFormat,
  type TranscriptionRequest,
} from "../../../src/inference/audio/audio-request.ts";
import { invalidField } from "../../../src/inference/body/invalid-field.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType } from "../chat/chat.type.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";
import { TimestampGranularityEnum, TranscriptionFormat } from "./transcription-options.type.ts";

/** An audio file to transcribe. */
@InputType("TranscribeAudioInput", {
  description: "An audio file to transcribe. A request has at most 512 KiB; send larger files over REST.",
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

  @Field(() => TranscriptionFormat, {
    nullable: true,
    description: "The form of the transcription. Default: `VERBOSE_JSON`.",
  })
  format?: TranscriptFormat | null;

  @Field(() => Float, {
    nullable: true,
    description: "How random the choice of words is: from 0 to 1. Default: the provider's.",
  })
  temperature?: number | null;

  @Field(() => [TimestampGranularityEnum], {
    nullable: true,
    description: "The units whose times are returned, in the format `VERBOSE_JSON`. Default: the provider's.",
  })
  timestampGranularities?: readonly TimestampGranularity[] | null;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Maps the input to the request that REST would parse. Throws `invalid_body`. */
export function toTranscriptionRequest(input: TranscribeAudioInput): TranscriptionRequest {
  const { model, fileBase64, filename, language, prompt, temperature, verifyTee } = input;
  if (temperature != null && !(temperature >= 0 && temperature <= 1))
    throw invalidField("temperature", "must be from 0 to 1");
  if (input.timestampGranularities?.length && (input.format ?? "verbose_json") !== "verbose_json")
    throw invalidField("timestampGranularities", "requires the format `VERBOSE_JSON`");
  const body = {
    model,
    file_base64: fileBase64,
    ...(filename != null && { filename }),
    language,
    prompt,
    response_format: input.format ?? "verbose_json",
    temperature,
    timestamp_granularities: input.timestampGranularities,
    verify_tee: verifyTee ?? false,
  };
  return readTranscriptionJson(Buffer.from(JSON.stringify(body)));
}

/** A word of a transcription. */
@ObjectType("TranscriptionWord", {
  description: "A word of a transcription, with its times.",
  simpleResolvers: true,
})
class TranscriptionWordType {
  @Field(() => String, { description: "The word." })
  word!: string;

  @Field(() => Float, { description: "When the word begins, in seconds from the start of the audio." })
  start!: number;

  @Field(() => Float, { description: "When the word ends, in seconds from the start of the audio." })
  end!: number;
}

/** The transcription of an audio file. */
@ObjectType("Transcription", { description: "The transcription of an audio file.", simpleResolvers: true })
export class TranscriptionType {
  @Field(() => String, {
    description: "The transcribed text; in the formats `TEXT`, `SRT` and `VTT` the whole document.",
  })
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

  @Field(() => [TranscriptionWordType], {
    nullable: true,
    description:
      "The words with their times. Null unless the provider reports them: see `timestampGranularities`.",
  })
  words!: readonly TranscriptionWordType[] | null;

  @Field(() => Float, {
    nullable: true,
    description: "The duration of the audio. Null if the provider does not report it.",
  })
  durationSeconds!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The seconds of audio that were billed. Null in the formats `TEXT`, `SRT` and `VTT`.",
  })
  billedSeconds!: number | null;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("TranscribeAudioPayload", {
  description: "The result of `transcribeAudio`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class TranscribeAudioPayload extends PayloadType {
  @Field(() => TranscriptionType, { nullable: true, description: "The transcription and its bill." })
  transcription?: TranscriptionType | null;
}
