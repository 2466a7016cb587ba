/* eslint-disable */
import * as types from './graphql.ts';
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';

/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  query Requests($after: Cursor, $statuses: [RequestStatus!], $modelId: ID) {\n    viewer {\n      account {\n        id\n        requests(first: 5, after: $after, filter: { statuses: $statuses, modelId: $modelId }) {\n          edges { cursor node { id requestId createdAt modelId status cost { total } } }\n          pageInfo { hasNextPage endCursor }\n        }\n      }\n    }\n  }\n": typeof types.RequestsDocument,
    "\n  query Summary {\n    eventCursor\n    viewer {\n      account {\n        id\n        balance { available held }\n        ... @defer { marketBalance direct { ledger { total } } }\n      }\n    }\n  }\n": typeof types.SummaryDocument,
    "\n  subscription BalanceChanges($after: Cursor) {\n    balanceChanged(after: $after) {\n      id\n      cursor\n      account { id balance { available held } }\n      request { id requestId createdAt modelId status cost { total } }\n    }\n  }\n": typeof types.BalanceChangesDocument,
};
const documents: Documents = {
    "\n  query Requests($after: Cursor, $statuses: [RequestStatus!], $modelId: ID) {\n    viewer {\n      account {\n        id\n        requests(first: 5, after: $after, filter: { statuses: $statuses, modelId: $modelId }) {\n          edges { cursor node { id requestId createdAt modelId status cost { total } } }\n          pageInfo { hasNextPage endCursor }\n        }\n      }\n    }\n  }\n": types.RequestsDocument,
    "\n  query Summary {\n    eventCursor\n    viewer {\n      account {\n        id\n        balance { available held }\n        ... @defer { marketBalance direct { ledger { total } } }\n      }\n    }\n  }\n": types.SummaryDocument,
    "\n  subscription BalanceChanges($after: Cursor) {\n    balanceChanged(after: $after) {\n      id\n      cursor\n      account { id balance { available held } }\n      request { id requestId createdAt modelId status cost { total } }\n    }\n  }\n": types.BalanceChangesDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 *
 *
 * @example
 * ```ts
 * const query = graphql(`query GetUser($id: ID!) { user(id: $id) { name } }`);
 * ```
 *
 * The query argument is unknown!
 * Please regenerate the types.
 */
export function graphql(source: string): unknown;

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Requests($after: Cursor, $statuses: [RequestStatus!], $modelId: ID) {\n    viewer {\n      account {\n        id\n        requests(first: 5, after: $after, filter: { statuses: $statuses, modelId: $modelId }) {\n          edges { cursor node { id requestId createdAt modelId status cost { total } } }\n          pageInfo { hasNextPage endCursor }\n        }\n      }\n    }\n  }\n"): (typeof documents)["\n  query Requests($after: Cursor, $statuses: [RequestStatus!], $modelId: ID) {\n    viewer {\n      account {\n        id\n        requests(first: 5, after: $after, filter: { statuses: $statuses, modelId: $modelId }) {\n          edges { cursor node { id requestId createdAt modelId status cost { total } } }\n          pageInfo { hasNextPage endCursor }\n        }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Summary {\n    eventCursor\n    viewer {\n      account {\n        id\n        balance { available held }\n        ... @defer { marketBalance direct { ledger { total } } }\n      }\n    }\n  }\n"): (typeof documents)["\n  query Summary {\n    eventCursor\n    viewer {\n      account {\n        id\n        balance { available held }\n        ... @defer { marketBalance direct { ledger { total } } }\n      }\n    }\n  }\n"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription BalanceChanges($after: Cursor) {\n    balanceChanged(after: $after) {\n      id\n      cursor\n      account { id balance { available held } }\n      request { id requestId createdAt modelId status cost { total } }\n    }\n  }\n"): (typeof documents)["\n  subscription BalanceChanges($after: Cursor) {\n    balanceChanged(after: $after) {\n      id\n      cursor\n      account { id balance { available held } }\n      request { id requestId createdAt modelId status cost { total } }\n    }\n  }\n"];

export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}

export type DocumentType<TDocumentNode extends DocumentNode<any, any>> = TDocumentNode extends DocumentNode<  infer TType,  any>  ? TType  : never;