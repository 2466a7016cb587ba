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
  /** A deposit was reverted. */
  | 'DEPOSIT_REVERTED'
  /** Funds were held, for a request and for the next ones of its key. */
  | 'HOLD'
  /** Held funds were not needed and returned, or a request cost nothing. */
  | 'RELEASE'
  /** A request was charged. */
  | 'SETTLEMENT';

/** An image generation request. */
export type ImageJobInput = {
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
  /** Whether to verify the provider's signature of the result. Default: false. */
  verifyTee?: boolean | null | undefined;
};

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

/** A file to store: its `content`, or its `size` with the `nodes` of its merkle tree, or with its `root` if that is the only node. */
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
  size?: string | null | undefined;
  /** The tags to attach on chain. */
  tags?: string | null | undefined;
};

/** The proof that is required of a provider. */
export type ProviderEvidence =
  /** As `BOUND`, and the attestation of the provider's enclave passed every check. */
  | 'ATTESTED'
  /** The provider's acknowledged signer signed the answer. */
  | 'BOUND';

/** How providers are ranked. */
export type ProviderSort =
  /** Lowest time to first byte first. */
  | 'LATENCY'
  /** Cheapest first. */
  | 'PRICE';

/** Routing preferences. The router decides everything that is not set. */
export type RoutingInput = {
  /** Whether another provider may be tried if one fails. Default: true. */
  allowFallbacks?: boolean | null | undefined;
  /** The proof that is required. A response without it is billed and delivered, with `bill { unproven }`; a subscription ends with the error `evidence_missing`. */
  evidence?: ProviderEvidence | null | undefined;
  /** The maximum output price in USD per million tokens. */
  maxPriceUsdCompletion?: string | null | undefined;
  /** The maximum price of one image in USD. */
  maxPriceUsdImage?: string | null | undefined;
  /** The maximum input price in USD per million tokens, such as `0.25`. */
  maxPriceUsdPrompt?: string | null | undefined;
  /** The only provider to use. */
  provider?: string | null | undefined;
  /** How to rank the providers. */
  sort?: ProviderSort | null | undefined;
  /** The lowest acceptable trust mode. */
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

/** The level of trust in a provider. */
export type TrustMode =
  /** As `VERIFIED`, and requests are readable only inside the provider's enclave. */
  | 'PRIVATE'
  /** No verification. */
  | 'STANDARD'
  /** The provider's answers can be verified. */
  | 'VERIFIED';

export type BalanceQueryVariables = Exact<{ [key: string]: never; }>;


export type BalanceQuery = { eventCursor: string, viewer: { account: { address: string, balance: { available: string, held: string } | null } | null } };

export type BalanceChangedSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BalanceChangedSubscription = { balanceChanged: { id: string, cursor: string, at: string, cause: BalanceCause, balance: { available: string, held: string } } };

export type WalletNetworkQueryVariables = Exact<{ [key: string]: never; }>;


export type WalletNetworkQuery = { network: { name: string, chainId: number, rpcUrls: Array<string> } };

export type PrepareUploadMutationVariables = Exact<{
  input: PrepareUploadInput;
}>;


export type PrepareUploadMutation = { prepareUpload: { root: string, alreadyFinalized: boolean, transaction: { to: string, data: string, value: string } | null } | null };

export type SubmitImageJobMutationVariables = Exact<{
  input: ImageJobInput;
}>;


export type SubmitImageJobMutation = { submitImageJob: { id: string, status: JobStatus, modelId: string } | null };

export type ImageJobProgressSubscriptionVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type ImageJobProgressSubscription = { imageJobProgress: { id: string, cursor: string, at: string, sequence: number, step: JobStep, status: JobStatus, fraction: number | null, provider: string | null, attempt: number, errorCode: string | null, errorMessage: string | null, job: { images: Array<{ b64Json: string, root: string }> | null } | null } };

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
    mutation PrepareUpload($input: PrepareUploadInput!) {
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
    `) as unknown as TypedDocumentString<PrepareUploadMutation, PrepareUploadMutationVariables>;
export const SubmitImageJobDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation SubmitImageJob($input: ImageJobInput!) {
  submitImageJob(input: $input) {
    id
    status
    modelId
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
    provider
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