/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** Images to be made out of a text. */
export type ImageJobInput = {
  /** The id of the model. */
  model: string;
  /** Number of images, 1 to 10. Default: 1. */
  n?: number | null | undefined;
  /** Further members of OpenAI's request. */
  options?: unknown;
  /** What is to be seen. */
  prompt: string;
  /** How to choose the provider. */
  routing?: RoutingInput | null | undefined;
  /** Width and height in pixels, such as `512x512`. */
  size?: string | null | undefined;
  /** Whether to check the provider's signature of the result. */
  verifyTee?: boolean | null | undefined;
};

/** How a job stands. It never goes back, and the last three are final. */
export type JobStatus =
  /** It was taken back before it was begun, and cost nothing. */
  | 'CANCELLED'
  /** It is done and paid for. */
  | 'COMPLETED'
  /** It was not done and cost nothing; `errorCode` says why. */
  | 'FAILED'
  /** It waits for a worker, and can still be cancelled. */
  | 'PENDING'
  /** A worker and a provider are at it. */
  | 'PROCESSING';

/** A kind of step in the history of a job. */
export type JobStep =
  /** It was taken back. */
  | 'CANCELLED'
  /** It is done and paid for. */
  | 'COMPLETED'
  /** It ended without a result, and cost nothing. */
  | 'FAILED'
  /** The provider failed; another may be tried. */
  | 'PROVIDER_FAILED'
  /** It was taken on, and its money is held. */
  | 'QUEUED'
  /** Another worker took it over. */
  | 'RESUMED'
  /** The provider is at it. */
  | 'RUNNING'
  /** A worker took it. */
  | 'STARTED'
  /** A provider has it. */
  | 'SUBMITTED';

/** By what providers are ranked. */
export type ProviderSort =
  /** The quickest first, by its first byte. */
  | 'LATENCY'
  /** The cheapest first. */
  | 'PRICE';

/** How to choose the provider; what is left out is the router's to choose. */
export type RoutingInput = {
  /** Whether another provider may be tried when one fails. Default: true. */
  allowFallbacks?: boolean | null | undefined;
  /** What output may cost at the most: USD for a million tokens. */
  maxPriceUsdCompletion?: string | null | undefined;
  /** What one image may cost at the most: USD. */
  maxPriceUsdImage?: string | null | undefined;
  /** What input may cost at the most: USD for a million tokens, such as `0.25`. */
  maxPriceUsdPrompt?: string | null | undefined;
  /** The one provider to ask, and no other. */
  provider?: string | null | undefined;
  /** Which provider comes first. */
  sort?: ProviderSort | null | undefined;
  /** How far a provider must be trusted at the least. */
  trustMode?: TrustMode | null | undefined;
};

/** What a provider's service does. */
export type ServiceType =
  /** Answers chats with text. */
  | 'CHATBOT'
  /** Changes images by text. */
  | 'IMAGE_EDITING'
  /** Writes down what is said. */
  | 'SPEECH_TO_TEXT'
  /** Makes images out of text. */
  | 'TEXT_TO_IMAGE';

/** How far a provider can be trusted. */
export type TrustMode =
  /** What is sent to it is private to its enclave, too. */
  | 'PRIVATE'
  /** Nothing vouches for it. */
  | 'STANDARD'
  /** Its answers can be verified. */
  | 'VERIFIED';

export type ImageModelsQueryVariables = Exact<{ [key: string]: never; }>;


export type ImageModelsQuery = { models: { nodes: Array<{ id: string, serviceType: ServiceType, pricing: { output: string } | null }> } };

export type SubmitImageJobMutationVariables = Exact<{
  input: ImageJobInput;
}>;


export type SubmitImageJobMutation = { submitImageJob: { id: string } | null };

export type JobProgressSubscriptionVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type JobProgressSubscription = { imageJobProgress: { cursor: string, sequence: number, at: string, step: JobStep, status: JobStatus, provider: string | null, errorMessage: string | null, job: { images: Array<{ b64Json: string }> | null } | null } };


export const ImageModelsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"ImageModels"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"models"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"serviceType"}},{"kind":"Field","name":{"kind":"Name","value":"pricing"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"output"}}]}}]}}]}}]}}]} as unknown as DocumentNode<ImageModelsQuery, ImageModelsQueryVariables>;
export const SubmitImageJobDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"SubmitImageJob"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ImageJobInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"submitImageJob"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}}]}}]}}]} as unknown as DocumentNode<SubmitImageJobMutation, SubmitImageJobMutationVariables>;
export const JobProgressDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"subscription","name":{"kind":"Name","value":"JobProgress"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"id"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"Cursor"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"imageJobProgress"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"id"}}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"sequence"}},{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"Field","name":{"kind":"Name","value":"step"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"provider"}},{"kind":"Field","name":{"kind":"Name","value":"errorMessage"}},{"kind":"Field","name":{"kind":"Name","value":"job"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"images"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"b64Json"}}]}}]}}]}}]}}]} as unknown as DocumentNode<JobProgressSubscription, JobProgressSubscriptionVariables>;