import { Link } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useList } from "../../data/list/use-list.ts";
import { graphql } from "../../data/query/graph.ts";
import { Section } from "../../parts/page/page.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, Live, Pill } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { SealedKeys } from "./sealed-keys.tsx";
import { PUBLISHED, shortId } from "./token-queries.ts";

const INBOX = graphql(`
  query SealedKeys($to: Address!, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    sealedKeys(to: $to, first: $first, last: $last, after: $after, before: $before) {
      nodes {
        id cause contract tokenId seenAt confirmations transactionHash
        from { address }
        keys { index dataHash key sizeBytes truncated }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

type Sealed = NonNullable<ResultOf<typeof INBOX>["sealedKeys"]>["nodes"][number];

const COLUMNS: readonly Column<Sealed>[] = [
  {
    id: "token",
    name: "Token",
    cell: ({ tokenId, contract }) => (
      <Link to="/tokens/$contract/$id" params={{ contract, id: tokenId }}>
        #{shortId(tokenId)}
      </Link>
    ),
  },
  { id: "seen", name: "Received", cell: ({ seenAt }) => <Time at={seenAt} /> },
  { id: "cause", name: "Cause", cell: ({ cause }) => <Pill tone="calm">{inWords(cause)}</Pill> },
  { id: "from", name: "From", cell: ({ from }) => (from ? <Hash of={from.address} /> : "–") },
  { id: "keys", name: "Keys", cell: ({ keys }) => <SealedKeys keys={keys} /> },
  { id: "confirmations", name: "Confirmations", isNumber: true, cell: ({ confirmations }) => confirmations },
];

/** The keys that were sealed for an account, live. */
export function Inbox({ address }: { address: string }) {
  const list = useList({
    query: INBOX,
    variables: { to: address },
    pick: ({ sealedKeys }) => sealedKeys,
    changes: PUBLISHED,
    changeVariables: { to: address },
    isLocal: true,
  });
  return (
    <Section
      title="Sealed keys for you"
      about="Each opens a piece of a token's data. Only the private key of your wallet can open them."
      actions={list.liveness && <Live liveness={list.liveness} />}
      isFlush
    >
      <ListTable
        label="Sealed keys"
        list={list}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty="No sealed keys yet."
      />
    </Section>
  );
}
