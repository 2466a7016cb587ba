import type { ServiceType } from "../../inference/providers/provider.ts";
import {
  CACHING_PROVIDERS,
  type DevAccount,
  EDIT_PROVIDER,
  EMBEDDING_PROVIDER,
  IMAGE_PROVIDER,
  PROVIDER,
  RANKING_PROVIDER,
  RESPONSES_PROVIDER,
  SPEECH_PROVIDER,
  VOICE_PROVIDER,
} from "../chain/accounts.ts";

/** The offer of a stand-in provider; prices are neuron per token, or for others per image, second of audio or character. */
export type DevnetOffer = {
  readonly account: DevAccount;
  readonly model: string;
  readonly serviceType: ServiceType;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  /** Whether the provider caches prompts. */
  readonly cachesPrompts?: boolean;
  /** Its `additionalInfo`. */
  readonly info: Readonly<Record<string, unknown>>;
};

/** The chat model of the development network. */
export const DEVNET_MODEL = "devnet-chat";

/** A chat model of two equally expensive providers, each of which caches prompts: requests stay where theirs is. */
const CACHED_OFFERS: readonly DevnetOffer[] = CACHING_PROVIDERS.map((account) => ({
  account,
  model: "devnet-chat-cached",
  serviceType: "chatbot",
  inputPrice: 2_000_000_000_000n,
  outputPrice: 5_000_000_000_000n,
  cachesPrompts: true,
  info: {
    SupportedFormats: ["openai", "anthropic"],
    Description: "A stand-in that caches prompts: tokens that a provider has seen cost a tenth.",
    ContextLength: 131_072,
    MaxCompletionTokens: 4_096,
    InputModalities: ["text"],
    OutputModalities: ["text"],
    SupportedParameters: ["max_tokens", "stream", "tools", "tool_choice", "response_format"],
    CachedPromptPrice: "200000000000",
  },
}));

/** A chat model whose provider has OpenAI's Responses itself. */
const RESPONSES_OFFER: DevnetOffer = {
  account: RESPONSES_PROVIDER,
  model: "devnet-responses",
  serviceType: "chatbot",
  inputPrice: 2_000_000_000_000n,
  outputPrice: 5_000_000_000_000n,
  info: {
    SupportedFormats: ["openai", "responses"],
    KeepsResponses: true,
    Description: "A stand-in that has OpenAI's Responses itself, and keeps those with `store: true`.",
    ContextLength: 131_072,
    MaxCompletionTokens: 4_096,
    InputModalities: ["text"],
    OutputModalities: ["text"],
    SupportedParameters: ["max_tokens", "stream", "tools", "tool_choice", "response_format"],
  },
};

/** One offer of each service type, those that cache prompts, and one of responses. */
export const DEVNET_OFFERS: readonly DevnetOffer[] = [
  {
    account: PROVIDER,
    model: DEVNET_MODEL,
    serviceType: "chatbot",
    inputPrice: 2_000_000_000_000n,
    outputPrice: 5_000_000_000_000n,
    info: {
      SupportedFormats: ["openai", "anthropic", "completions"],
      Description: "A stand-in that responds with words generated from the prompt.",
      ContextLength: 131_072,
      MaxCompletionTokens: 4_096,
      InputModalities: ["text"],
      OutputModalities: ["text"],
      SupportedParameters: ["max_tokens", "stream", "tools", "tool_choice", "response_format"],
    },
  },
  {
    account: IMAGE_PROVIDER,
    model: "devnet-image",
    serviceType: "text-to-image",
    inputPrice: 0n,
    outputPrice: 3_000_000_000_000_000n,
    info: {
      Description: "A stand-in that draws a PNG from the prompt.",
      InputModalities: ["text"],
      OutputModalities: ["image"],
      SupportedParameters: ["n", "size", "response_format"],
    },
  },
  {
    account: EDIT_PROVIDER,
    model: "devnet-edit",
    serviceType: "image-editing",
    inputPrice: 0n,
    outputPrice: 4_000_000_000_000_000n,
    info: {
      Description: "A stand-in that draws a PNG from the image and the prompt.",
      InputModalities: ["text", "image"],
      OutputModalities: ["image"],
      SupportedParameters: ["n", "size", "response_format"],
    },
  },
  {
    account: SPEECH_PROVIDER,
    model: "devnet-speech",
    serviceType: "speech-to-text",
    inputPrice: 0n,
    outputPrice: 10_000_000_000_000n,
    info: {
      Description: "A stand-in that generates a transcript from the audio bytes.",
      InputModalities: ["audio"],
      OutputModalities: ["text"],
      SupportedParameters: [
        "language",
        "prompt",
        "response_format",
        "temperature",
        "timestamp_granularities",
      ],
    },
  },
  {
    account: EMBEDDING_PROVIDER,
    model: "devnet-embedding",
    serviceType: "embedding",
    inputPrice: 100_000_000_000n,
    outputPrice: 0n,
    info: {
      Description: "A stand-in that computes vectors from the words of a text.",
      ContextLength: 8_192,
      InputModalities: ["text"],
      OutputModalities: ["embedding"],
      SupportedParameters: ["dimensions", "encoding_format"],
    },
  },
  {
    account: VOICE_PROVIDER,
    model: "devnet-voice",
    serviceType: "text-to-speech",
    inputPrice: 0n,
    outputPrice: 1_000_000_000_000n,
    info: {
      Description: "A stand-in that speaks a text in tones, as WAV or PCM.",
      InputModalities: ["text"],
      OutputModalities: ["audio"],
      SupportedParameters: ["voice", "response_format", "speed"],
    },
  },
  {
    account: RANKING_PROVIDER,
    model: "devnet-rerank",
    serviceType: "rerank",
    inputPrice: 100_000_000_000n,
    outputPrice: 0n,
    info: {
      Description: "A stand-in that ranks documents by the words that they share with the query.",
      ContextLength: 8_192,
      InputModalities: ["text"],
      OutputModalities: ["ranking"],
      SupportedParameters: ["top_n", "return_documents"],
    },
  },
  ...CACHED_OFFERS,
  RESPONSES_OFFER,
];
