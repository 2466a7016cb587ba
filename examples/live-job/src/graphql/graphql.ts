/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** The proof that is required of a provider. */
export type ProviderEvidence =
  /** Like `BOUND`, and the attestation of the provider's enclave passed every check. */
  | 'ATTESTED'
  /** The provider's acknowledged signer signed the answer. */
  | 'BOUND';

/** How providers are ranked. */
export type ProviderSort =
  /** Lowest time to first byte first. */
  | 'LATENCY'
  /** Cheapest first. */
  | 'PRICE'
  /** Most tokens per second first. */
  | 'THROUGHPUT';

/** Routing preferences. The router decides everything that is not set. */
export type RoutingInput = {
  /** Whether another provider may be tried if one fails. Default: true. */
  allowFallbacks?: boolean | null | undefined;
  /** The proof that is required. A response without it is billed and delivered, with `bill { unproven }`; a subscription ends with the error `evidence_missing`. */
  evidence?: ProviderEvidence | null | undefined;
  /** The ids of at most 5 models to use, in this order, if no provider of the requested model answers. The request is billed at the prices of the model that answers. For chats and messages only. */
  fallbackModels?: Array<string> | null | undefined;
  /** Providers that may not be used. At most 50. */
  ignore?: Array<string> | null | undefined;
  /** The maximum output price in USD per million tokens. */
  maxPriceUsdCompletion?: string | null | undefined;
  /** The maximum price of one image in USD. */
  maxPriceUsdImage?: string | null | undefined;
  /** The maximum input price in USD per million tokens, such as `0.25`. */
  maxPriceUsdPrompt?: string | null | undefined;
  /** The providers that may be used. At most 50. */
  only?: Array<string> | null | undefined;
  /** Providers to try first, in this order. At most 50. */
  order?: Array<string> | null | undefined;
  /** The only provider to use. */
  provider?: string | null | undefined;
  /** An identifier, of at most 256 characters, of the conversation that the request belongs to. Requests of a conversation go to the provider that has their prompt cached if that costs less and no other preference decides. For chats and messages only. */
  sessionId?: string | null | undefined;
  /** How to rank the providers. */
  sort?: ProviderSort | null | undefined;
  /** The minimum trust mode. */
  trustMode?: TrustMode | null | undefined;
};

/** The type of a provider's service. */
export type ServiceType =
  /** Chat completion. */
  | 'CHATBOT'
  /** Embeddings of texts. */
  | 'EMBEDDING'
  /** Image editing from text. */
  | 'IMAGE_EDITING'
  /** Ranking of documents by a query. */
  | 'RERANK'
  /** Audio transcription. */
  | 'SPEECH_TO_TEXT'
  /** Image generation from text. */
  | 'TEXT_TO_IMAGE'
  /** Speech from text. */
  | 'TEXT_TO_SPEECH';

/** An image generation job to submit. */
export type SubmitImageJobInput = {
  /** A string of your choice, 1 to 255 printable ASCII characters. A call repeated with the same string within 24 h is not run again: it returns the first response, or a job in its current state. */
  idempotencyKey?: string | null | undefined;
  /** The id of the model. */
  model: string;
  /** Number of images, 1 to 10. Default: 1. */
  n?: number | null | undefined;
  /** Additional members of OpenAI's request body. */
  options?: unknown;
  /** The description of the image. */
  prompt: string;
  /** Routing preferences. */
  routing?: RoutingInput | null | undefined;
  /** Width and height in pixels, such as `512x512`. */
  size?: string | null | undefined;
  /** Up to 10 tags of the request, each with a different name, for usage and budgets by tag. */
  tags?: Array<TagInput> | null | undefined;
  /** Whether to verify the provider's signature of the response. Default: false. */
  verifyTee?: boolean | null | undefined;
};

/** A tag of a request. The request's cost is counted under it. */
export type TagInput = {
  /** The name, 1 to 64 bytes without control characters. */
  name: string;
  /** The value, 1 to 512 bytes without control characters. */
  value: string;
};

/** The level of trust in a provider. */
export type TrustMode =
  /** Like `VERIFIED`, and requests are readable only inside the provider's enclave. */
  | 'PRIVATE'
  /** No verification. */
  | 'STANDARD'
  /** The provider's answers can be verified. */
  | 'VERIFIED';

export type ImageModelsQueryVariables = Exact<{ [key: string]: never; }>;


export type ImageModelsQuery = { models: { nodes: Array<{ id: string, modelId: string, serviceType: ServiceType, pricing: { output: string } | null }> } | null };

export type SubmitImageJobMutationVariables = Exact<{
  input: SubmitImageJobInput;
}>;


export type SubmitImageJobMutation = { submitImageJob: { imageJob: { id: string } | null, userErrors: Array<{ message: string }> } | null };


export const ImageModelsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"ImageModels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"models"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"modelId"}},{"kind":"Field","name":{"kind":"Name","value":"serviceType"}},{"kind":"Field","name":{"kind":"Name","value":"pricing"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"output"}}]}}]}}]}}]}}]} as unknown as DocumentNode<ImageModelsQuery, ImageModelsQueryVariables>;
export const SubmitImageJobDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"SubmitImageJob"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"SubmitImageJobInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"submitImageJob"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"imageJob"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}}]}},{"kind":"Field","name":{"kind":"Name","value":"userErrors"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<SubmitImageJobMutation, SubmitImageJobMutationVariables>;