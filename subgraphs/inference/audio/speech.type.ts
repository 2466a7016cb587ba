import "../../shared/schema/reflect.ts";
import { Field, Float, InputType, Int, ObjectType } from "type-graphql";
import {
  readSpeechRequest,
  type SpeechFormat,
  type SpeechRequest,
} from "../../../src/inference/audio/speech-request.ts";
import { invalidField } from "../../../src/inference/body/invalid-field.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType } from "../chat/chat.type.ts";
import { withMembers } from "../members.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";

/** Bounds the audio that one result holds in memory: five minutes of speech. */
const MAX_CHARACTERS = 4_096;

const SpeechFormatEnum = defineEnum<SpeechFormat>("SpeechFormat", "An audio format.", {
  mp3: "MP3.",
  opus: "Opus.",
  aac: "AAC.",
  flac: "FLAC.",
  wav: "WAV.",
  pcm: "Samples without a header, as the model's provider documents them.",
});

/** A text to speak. */
@InputType("CreateSpeechInput", { description: "A text to speak." })
export class CreateSpeechInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "The text, 1 to 4,096 characters. Send longer texts over REST." })
  text!: string;

  @Field(() => String, { description: "The name of the voice, such as `alloy`. Each model has its own." })
  voice!: string;

  @Field(() => String, { nullable: true, description: "How to speak, such as `slowly, in a calm tone`." })
  instructions?: string | null;

  @Field(() => SpeechFormatEnum, {
    nullable: true,
    description: "The audio format. Default: MP3. A provider may return another one: see `contentType`.",
  })
  format?: SpeechFormat | null;

  @Field(() => Float, { nullable: true, description: "The speed, 0.25 to 4. Default: 1." })
  speed?: number | null;

  @Field(() => JsonScalar, { nullable: true, description: "Additional members of OpenAI's request body." })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** The request that REST would parse. Throws `invalid_body`. */
export function toSpeechRequest(input: CreateSpeechInput): SpeechRequest {
  const { model, text, voice, instructions, format, speed, options, verifyTee } = input;
  if (text === "" || text.length > MAX_CHARACTERS)
    throw invalidField("text", `must have 1 to ${MAX_CHARACTERS} characters`);
  const body = {
    ...{ model, input: text, voice },
    ...(instructions != null && { instructions }),
    ...(format != null && { response_format: format }),
    ...(speed != null && { speed }),
    verify_tee: verifyTee ?? false,
  };
  return readSpeechRequest(Buffer.from(JSON.stringify(withMembers(body, options, "options"))));
}

/** Speech generated from a text. */
@ObjectType("Speech", { description: "Speech generated from a text.", simpleResolvers: true })
export class SpeechType {
  @Field(() => String, { description: "The audio file in base64." })
  audioBase64!: string;

  @Field(() => String, { description: "The media type of the audio, such as `audio/mpeg`." })
  contentType!: string;

  @Field(() => Int, {
    description: "The number of characters that were billed, counted in Unicode code points.",
  })
  characters!: number;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("CreateSpeechPayload", {
  description: "The result of `createSpeech`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateSpeechPayload extends PayloadType {
  @Field(() => SpeechType, { nullable: true, description: "The speech and its bill." })
  speech?: SpeechType | null;
}
