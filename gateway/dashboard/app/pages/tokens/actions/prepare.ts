import type { TypedDocumentNode } from "urql";
import { graphql, InputRefused, reader, reasonOf } from "../../../data/query/graph.ts";

/** An unsigned transaction: `value` is in neuron. */
export type Prepared = {
  readonly chainId: number;
  readonly from: string | null;
  readonly to: string;
  readonly data: string;
  readonly value: string;
  readonly warnings: readonly string[];
};

export const AUTHORIZE = graphql(`
  query PrepareAuthorizeUsage($contract: Address!, $tokenId: BigInt!, $user: Address!, $from: Address) {
    prepared: prepareAuthorizeUsage(contract: $contract, tokenId: $tokenId, user: $user, from: $from) {
      chainId from to data value warnings
    }
  }
`);
export const REVOKE = graphql(`
  query PrepareRevokeAuthorization($contract: Address!, $tokenId: BigInt!, $user: Address!, $from: Address) {
    prepared: prepareRevokeAuthorization(contract: $contract, tokenId: $tokenId, user: $user, from: $from) {
      chainId from to data value warnings
    }
  }
`);
export const DELEGATE = graphql(`
  query PrepareDelegateAccess($contract: Address!, $assistant: Address!, $from: Address) {
    prepared: prepareDelegateAccess(contract: $contract, assistant: $assistant, from: $from) {
      chainId from to data value warnings
    }
  }
`);
export const TRANSFER = graphql(`
  query PrepareTransfer(
    $contract: Address!, $tokenId: BigInt!, $owner: Address!, $to: Address!, $from: Address
    $proofs: [TransferProofInput!]!
  ) {
    prepared: prepareTransfer(
      contract: $contract, tokenId: $tokenId, owner: $owner, to: $to, from: $from, proofs: $proofs
    ) { chainId from to data value warnings }
  }
`);
export const CLONE = graphql(`
  query PrepareClone(
    $contract: Address!, $tokenId: BigInt!, $owner: Address!, $to: Address!, $from: Address
    $proofs: [TransferProofInput!]!
  ) {
    prepared: prepareClone(
      contract: $contract, tokenId: $tokenId, owner: $owner, to: $to, from: $from, proofs: $proofs
    ) { chainId from to data value warnings }
  }
`);
export const MINT = graphql(`
  query PrepareMint($contract: Address!, $from: Address!, $to: Address!, $data: [IntelligentDataInput!]!) {
    prepared: prepareMint(contract: $contract, from: $from, to: $to, data: $data) {
      chainId from to data value warnings
    }
  }
`);

/**
 * Prepares a transaction, which the chain simulates. Throws `InputRefused` with the argument at fault, and an `Error` for
 * any other failure.
 */
export async function prepare<Variables extends object>(
  query: TypedDocumentNode<{ readonly prepared: Prepared | null }, Variables>,
  variables: Variables,
): Promise<Prepared> {
  const { data, error } = await reader.query(query, variables as never).toPromise();
  if (data?.prepared) return data.prepared;
  const param = error?.graphQLErrors[0]?.extensions.param;
  const message = error ? reasonOf(error) : "The transaction could not be prepared.";
  if (typeof param !== "string") throw new Error(message);
  throw new InputRefused([{ field: param, message }]);
}
