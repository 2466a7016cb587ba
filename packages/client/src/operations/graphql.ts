/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from "../core/document.ts";
/** Why a balance changed. */
export type BalanceCause =
  /** Credit was granted. */
  | 'CREDIT'
  /** A deposit was credited. */
  | 'DEPOSIT'
  /** Funds were held, for a request and for the next ones of its key. */
  | 'HOLD'
  /** Held funds were not needed and returned, or a request cost nothing. */
  | 'RELEASE'
  /** A request was charged. */
  | 'SETTLEMENT';

/** Why something failed. The values are spelled as they are sent: in `extensions.code` of an error, in `userErrors`, and as `code` of a REST error. Values in capitals belong to the GraphQL protocol and occur in `extensions.code` only. */
export type ErrorCode =
  /** The request does not follow the GraphQL over HTTP specification. */
  | 'BAD_REQUEST'
  /** The document has a syntax error. */
  | 'GRAPHQL_PARSE_FAILED'
  /** The document does not match the schema. */
  | 'GRAPHQL_VALIDATION_FAILED'
  /** The document has no operation of the name that was sent, or has several and no name was sent. */
  | 'OPERATION_RESOLUTION_FAILURE'
  /** The persisted query or trusted document is not known. Send a persisted query's text with its hash. */
  | 'PERSISTED_QUERY_NOT_FOUND'
  /** Persisted queries are not available. Send the text, or the id of a trusted document. */
  | 'PERSISTED_QUERY_NOT_SUPPORTED'
  /** The key's restrictions do not allow the request. */
  | 'access_denied'
  /** The key has expired. */
  | 'api_key_expired'
  /** The account has no `sk-` key with this id. */
  | 'api_key_not_found'
  /** The key was revoked. */
  | 'api_key_revoked'
  /** The caller has no job with this id. */
  | 'async_job_not_found'
  /** The job is not pending any more, so it cannot be cancelled. */
  | 'async_job_not_pending'
  /** The account already has the maximum number of unfinished batches. */
  | 'batch_limit_reached'
  /** The batch has ended, so it cannot be cancelled. */
  | 'batch_not_cancellable'
  /** The caller has no batch with this id. */
  | 'batch_not_found'
  /** The body did not arrive in time. */
  | 'body_timeout'
  /** The body is too large. */
  | 'body_too_large'
  /** The job was cancelled before it started. */
  | 'cancelled'
  /** The chain's RPC endpoint failed. */
  | 'chain_error'
  /** The provider refused the content. */
  | 'content_policy_violation'
  /** The prompt is longer than the model's context. */
  | 'context_length_exceeded'
  /** The network has no such contract. */
  | 'contract_not_found'
  /** The contract would revert the call. */
  | 'contract_refused'
  /** The request exceeds the credit limit of the key, or of the budget of a tag. */
  | 'credit_limit_exceeded'
  /** The cursor is too old: events after it are no longer stored. */
  | 'cursor_expired'
  /** An active key of the account already has this name. */
  | 'duplicate_name'
  /** The tag already has a budget. */
  | 'duplicate_tag_budget'
  /** The answer lacks the required proof. */
  | 'evidence_missing'
  /** The request did not end in time, and its hold was released. */
  | 'expired'
  /** The file is not completely stored yet. */
  | 'file_not_finalized'
  /** The file does not exist. */
  | 'file_not_found'
  /** The folder has no file at this path. */
  | 'file_path_not_found'
  /** The file was deleted from storage. */
  | 'file_pruned'
  /** The file is too large. */
  | 'file_too_large'
  /** The folder's manifest is malformed. */
  | 'folder_malformed'
  /** The caller has no request with this id. */
  | 'generation_not_found'
  /** The GraphQL operation exceeds a limit or is not allowed here. */
  | 'graphql_refused'
  /** A guardrail of the key does not allow the request. */
  | 'guardrail_violated'
  /** The first call with this idempotency key is still running. */
  | 'idempotency_in_progress'
  /** The idempotency key belongs to a different call. */
  | 'idempotency_key_reused'
  /** The first response with this idempotency key cannot be repeated to this credential. */
  | 'idempotency_not_replayable'
  /** The account's balance does not cover the request. */
  | 'insufficient_balance'
  /** The credential is of the wrong kind or lacks the required scope. */
  | 'insufficient_scope'
  /** Something went wrong on our side. */
  | 'internal_error'
  /** The worker that sent a request of a batch ended. The request was sent again or abandoned. */
  | 'interrupted'
  /** The credential is unknown or malformed. */
  | 'invalid_api_key'
  /** The body or input is not valid. */
  | 'invalid_body'
  /** The cursor was not issued by this service, or belongs to another list. */
  | 'invalid_cursor'
  /** The maximum price is not a decimal of US dollars. */
  | 'invalid_max_price_usd'
  /** A parameter is not valid. */
  | 'invalid_parameter'
  /** A provider-routing header is malformed. */
  | 'invalid_provider_header'
  /** The key was revoked and cannot be changed. */
  | 'key_revoked'
  /** The account has no `mk-` key with this id. */
  | 'management_key_not_found'
  /** The HTTP method is not allowed at this path. */
  | 'method_not_allowed'
  /** The request has no credential. */
  | 'missing_authorization'
  /** No provider offers the model. */
  | 'model_not_found'
  /** No provider of the model can be tried now. */
  | 'no_available_provider'
  /** No provider has the required trust mode. */
  | 'no_provider_for_trust_mode'
  /** No provider recently gave the required proof. */
  | 'no_provider_with_evidence'
  /** Every provider of the model is more expensive than the maximum price. */
  | 'no_provider_within_max_price'
  /** The object does not exist. */
  | 'not_found'
  /** This service is overloaded: retry later. */
  | 'overloaded'
  /** The requested provider is more expensive than the maximum price. */
  | 'pinned_provider_exceeds_max_price'
  /** The object is not in the state that the request requires. */
  | 'precondition_failed'
  /** The previous response is not kept, or belongs to another key. */
  | 'previous_response_not_found'
  /** The provider failed. */
  | 'provider_error'
  /** None of the requested providers offers the model. */
  | 'provider_model_mismatch'
  /** The provider is not registered. */
  | 'provider_not_found'
  /** The range is outside of the file. */
  | 'range_not_satisfiable'
  /** Too many requests: retry after `retryAfter` seconds. */
  | 'rate_limit_exceeded'
  /** The request has no receipt. */
  | 'receipt_not_found'
  /** The receipt is not signed yet. */
  | 'receipt_pending'
  /** The segment does not match its proof or its file. */
  | 'segment_refused'
  /** The wallet session has expired or was ended. */
  | 'session_ended'
  /** The signed sign-in message is not valid. */
  | 'sign_in_refused'
  /** The storage is full. */
  | 'storage_full'
  /** The files of the account use its whole storage quota. */
  | 'storage_quota_exceeded'
  /** The storage network cannot be reached. */
  | 'storage_unavailable'
  /** The account already has the maximum number of budgets of tags. */
  | 'tag_budget_limit_reached'
  /** The account has no budget of a tag with this id. */
  | 'tag_budget_not_found'
  /** A part of this service cannot be reached. */
  | 'unavailable'
  /** The media type of the body is not supported. */
  | 'unsupported_media_type'
  /** The router's vault cannot be read. */
  | 'vault_unavailable'
  /** The account already has the maximum number of webhooks. */
  | 'webhook_limit_reached'
  /** The account has no webhook with this id. */
  | 'webhook_not_found';

/** The status of a job. It never reverts; `COMPLETED`, `FAILED` and `CANCELLED` are final. */
export type JobStatus =
  /** The job was cancelled before it started and was not charged. */
  | 'CANCELLED'
  /** The job is completed and charged. */
  | 'COMPLETED'
  /** The job failed and was not charged; `errorCode` states why. */
  | 'FAILED'
  /** The job waits for a worker and can still be cancelled. */
  | 'PENDING'
  /** A worker and a provider are processing the job. */
  | 'PROCESSING';

/** The kind of a step in a job's history. */
export type JobStep =
  /** The job was cancelled and not charged. */
  | 'CANCELLED'
  /** The job is completed and charged. */
  | 'COMPLETED'
  /** The job failed and was not charged. */
  | 'FAILED'
  /** The provider failed; another one may be tried. */
  | 'PROVIDER_FAILED'
  /** The job was accepted and its cost is held. */
  | 'QUEUED'
  /** Another worker took over the job. */
  | 'RESUMED'
  /** The provider is processing the job. */
  | 'RUNNING'
  /** A worker started the job. */
  | 'STARTED'
  /** The job was submitted to a provider. */
  | 'SUBMITTED';

/** A file to store. Give its `content`; or its `sizeBytes` and the `nodes` of its merkle tree, or its `root` if that is the only node. */
export type PrepareUploadInput = {
  /** The ABI of the submission. Default: `CURRENT`. */
  abi?: SubmitAbi | null | undefined;
  /** Whether to submit and pay again for a file that is already submitted on chain. */
  again?: boolean;
  /** The file's whole content in base64. */
  content?: string | null | undefined;
  /** The account that will send the transaction. */
  from: string;
  /** The nodes of the submission, largest first, as clients of the network compute them. */
  nodes?: Array<SubmissionNodeInput> | null | undefined;
  /** The file's merkle root. */
  root?: string | null | undefined;
  /** The file's size in bytes. */
  sizeBytes?: string | null | undefined;
  /** The tags to attach on chain. */
  tags?: string | null | undefined;
};

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
  maxPriceUsdCompletion?: unknown;
  /** The maximum price of one image in USD. */
  maxPriceUsdImage?: unknown;
  /** The maximum input price in USD per million tokens, such as `0.25`. */
  maxPriceUsdPrompt?: unknown;
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

/** Why keys were sealed for a receiver. */
export type SealedKeyCause =
  /** A token was cloned for the receiver. */
  | 'CLONE'
  /** A token was minted for the receiver. */
  | 'MINT'
  /** A token was transferred to the receiver. */
  | 'TRANSFER';

/** A node of a file's merkle tree in a submission. */
export type SubmissionNodeInput = {
  /** The node's height: it spans 2^height sectors of 256 bytes. */
  height: number;
  /** The node's merkle root. */
  root: string;
};

/** The ABI of the Flow contract's submission method. */
export type SubmitAbi =
  /** The current ABI, which names a submitter. */
  | 'CURRENT'
  /** The ABI before 2026. */
  | 'LEGACY';

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

export type BalanceQueryVariables = Exact<{ [key: string]: never; }>;


export type BalanceQuery = { eventCursor: string | null, viewer: { account: { address: string, balance: { available: string, held: string } | null } | null } | null };

export type BalanceChangedSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BalanceChangedSubscription = { balanceChanged: { id: string, cursor: string, at: string, cause: BalanceCause, balance: { available: string, held: string } } };

export type WalletNetworkQueryVariables = Exact<{ [key: string]: never; }>;


export type WalletNetworkQuery = { network: { name: string, chainId: number, rpcUrls: Array<string> } | null };

export type PrepareUploadQueryVariables = Exact<{
  input: PrepareUploadInput;
}>;


export type PrepareUploadQuery = { prepareUpload: { root: string, alreadyFinalized: boolean, transaction: { to: string, data: string, value: string } | null } | null };

export type SubmitImageJobMutationVariables = Exact<{
  input: SubmitImageJobInput;
}>;


export type SubmitImageJobMutation = { submitImageJob: { imageJob: { id: string, jobId: string, status: JobStatus, modelId: string } | null, userErrors: Array<{ field: string | null, message: string, code: ErrorCode }> } | null };

export type ImageJobProgressSubscriptionVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type ImageJobProgressSubscription = { imageJobProgress: { id: string, cursor: string, at: string, sequence: number, step: JobStep, status: JobStatus, fraction: number | null, providerAddress: string | null, attempt: number, errorCode: ErrorCode | null, errorMessage: string | null, job: { images: Array<{ b64Json: string, root: string }> | null } | null } };

export type PublishedSealedKeySubscriptionVariables = Exact<{
  to?: string | null | undefined;
  contract?: string | null | undefined;
  tokenId?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type PublishedSealedKeySubscription = { publishedSealedKey: { id: string, cursor: string, at: string, removed: boolean, sealedKey: { id: string, cause: SealedKeyCause, contract: string, tokenId: string, transactionHash: string, blockNumber: string, to: { address: string }, from: { address: string } | null, keys: Array<{ index: number, dataHash: string | null, key: string, truncated: boolean }> } | null } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}

export const BalanceDocument = /* @__PURE__ */ new TypedDocumentString(`
    query Balance {
  eventCursor
  viewer {
    account {
      address
      balance {
        available
        held
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BalanceQuery, BalanceQueryVariables>;
export const BalanceChangedDocument = /* @__PURE__ */ new TypedDocumentString(`
    subscription BalanceChanged($after: Cursor) {
  balanceChanged(after: $after) {
    id
    cursor
    at
    cause
    balance {
      available
      held
    }
  }
}
    `) as unknown as TypedDocumentString<BalanceChangedSubscription, BalanceChangedSubscriptionVariables>;
export const WalletNetworkDocument = /* @__PURE__ */ new TypedDocumentString(`
    query WalletNetwork {
  network {
    name
    chainId
    rpcUrls
  }
}
    `) as unknown as TypedDocumentString<WalletNetworkQuery, WalletNetworkQueryVariables>;
export const PrepareUploadDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PrepareUpload($input: PrepareUploadInput!) {
  prepareUpload(input: $input) {
    root
    alreadyFinalized
    transaction {
      to
      data
      value
    }
  }
}
    `) as unknown as TypedDocumentString<PrepareUploadQuery, PrepareUploadQueryVariables>;
export const SubmitImageJobDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation SubmitImageJob($input: SubmitImageJobInput!) {
  submitImageJob(input: $input) {
    imageJob {
      id
      jobId
      status
      modelId
    }
    userErrors {
      field
      message
      code
    }
  }
}
    `) as unknown as TypedDocumentString<SubmitImageJobMutation, SubmitImageJobMutationVariables>;
export const ImageJobProgressDocument = /* @__PURE__ */ new TypedDocumentString(`
    subscription ImageJobProgress($id: ID!, $after: Cursor) {
  imageJobProgress(id: $id, after: $after) {
    id
    cursor
    at
    sequence
    step
    status
    fraction
    providerAddress
    attempt
    errorCode
    errorMessage
    job {
      images {
        b64Json
        root
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ImageJobProgressSubscription, ImageJobProgressSubscriptionVariables>;
export const PublishedSealedKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    subscription PublishedSealedKey($to: Address, $contract: Address, $tokenId: BigInt, $after: Cursor) {
  publishedSealedKey(
    to: $to
    contract: $contract
    tokenId: $tokenId
    after: $after
  ) {
    id
    cursor
    at
    removed
    sealedKey {
      id
      cause
      contract
      tokenId
      transactionHash
      blockNumber
      to {
        address
      }
      from {
        address
      }
      keys {
        index
        dataHash
        key
        truncated
      }
    }
  }
}
    `) as unknown as TypedDocumentString<PublishedSealedKeySubscription, PublishedSealedKeySubscriptionVariables>;