import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** A page of the tokens of an owner, a contract, or everyone. */
export const TOKENS = graphql(`
  query Tokens($filter: AgentTokenFilterInput, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    agentTokens(filter: $filter, first: $first, last: $last, after: $after, before: $before) {
      nodes {
        id contract tokenId generation movedWithoutKey blockNumber
        owner { address }
        data { index description dataHash }
        authorizedUsers { address }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

/** Every transfer of a token, in one contract or all. */
export const TRANSFERRED = graphql(`
  subscription TokenTransferred($contract: Address, $tokenId: BigInt, $after: Cursor) {
    tokenTransferred(contract: $contract, tokenId: $tokenId, after: $after) { cursor removed }
  }
`);

/** Keys that are sealed for a receiver, or of a token. */
export const PUBLISHED = graphql(`
  subscription PublishedSealedKey($to: Address, $contract: Address, $tokenId: BigInt, $after: Cursor) {
    publishedSealedKey(to: $to, contract: $contract, tokenId: $tokenId, after: $after) { cursor removed }
  }
`);

/** One token. */
export const TOKEN = graphql(`
  query Token($contract: Address!, $tokenId: BigInt!) {
    agentToken(contract: $contract, tokenId: $tokenId) {
      id contract tokenId generation movedWithoutKey blockNumber
      owner { address accessDelegations { contract assistant { address } } }
      creator { address }
      approved { address }
      clonedFrom { contract tokenId }
      data { index description dataHash file { root } }
      authorizedUsers { address }
    }
  }
`);

/** A page of what happened to a token. */
export const HISTORY = graphql(`
  query TokenHistory(
    $contract: Address!, $tokenId: BigInt!, $first: Int, $last: Int, $after: Cursor, $before: Cursor
  ) {
    agentTokenHistory(
      contract: $contract, tokenId: $tokenId, first: $first, last: $last, after: $after, before: $before
    ) {
      nodes {
        kind newTokenId withKey reverted blockNumber blockHash logIndex transactionHash seenAt
        from { address }
        to { address }
        sealedKey { id cause keys { index dataHash key sizeBytes truncated } }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

export type TokenRow = NonNullable<ResultOf<typeof TOKENS>["agentTokens"]>["nodes"][number];
export type Token = NonNullable<ResultOf<typeof TOKEN>["agentToken"]>;
export type Entry = NonNullable<ResultOf<typeof HISTORY>["agentTokenHistory"]>["nodes"][number];

/** Whether two addresses are the same, in whatever case they are written. */
export function isSame(one: string | null | undefined, other: string | null | undefined): boolean {
  return !!one && !!other && one.toLowerCase() === other.toLowerCase();
}

/** An id of up to 78 digits, shortened. */
export function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id;
}
