import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/graph.ts";
import { useSession } from "../../data/session.tsx";
import { useList } from "../../data/use-list.ts";
import type { Column } from "../../parts/column.ts";
import { Hash } from "../../parts/hash.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Live, Pill, StateBadge } from "../../parts/state-badge.tsx";
import { Note } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

const TOKENS = graphql(`
  query Tokens($owner: Address!, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    agentTokens(filter: { owner: $owner }, first: $first, last: $last, after: $after, before: $before) {
      nodes {
        id contract tokenId generation movedWithoutKey blockNumber
        data { index description dataHash }
        authorizedUsers { address }
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);
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
const PUBLISHED = graphql(`
  subscription PublishedSealedKey($to: Address, $after: Cursor) {
    publishedSealedKey(to: $to, after: $after) { cursor removed }
  }
`);

/** The account's agent tokens, and the keys sealed for it, live. */
export function TokensPage() {
  const { address } = useSession();
  if (!address) return null;
  return (
    <Page
      title="Agent tokens"
      about="Agent tokens (ERC-7857) of this account, and keys sealed for it. Only the receiver's wallet can open them."
    >
      <Inbox address={address} />
      <Owned address={address} />
    </Page>
  );
}

type Sealed = NonNullable<ResultOf<typeof INBOX>["sealedKeys"]>["nodes"][number];
type Token = NonNullable<ResultOf<typeof TOKENS>["agentTokens"]>["nodes"][number];

const SEALED: readonly Column<Sealed>[] = [
  { id: "seen", name: "Seen", cell: ({ seenAt }) => <Time at={seenAt} /> },
  {
    id: "token",
    name: "Token",
    cell: ({ tokenId, contract }) => (
      <>
        {tokenId} of <Hash of={contract} />
      </>
    ),
  },
  { id: "cause", name: "Cause", cell: ({ cause }) => <StateBadge state={cause} /> },
  { id: "from", name: "From", cell: ({ from }) => (from ? <Hash of={from.address} /> : "–") },
  { id: "keys", name: "Keys", cell: (sealed) => <Keys of={sealed} /> },
  { id: "confirmations", name: "Confirmations", isNumber: true, cell: ({ confirmations }) => confirmations },
];

function Inbox({ address }: { address: string }) {
  const list = useList({
    query: INBOX,
    variables: { to: address },
    pick: ({ sealedKeys }) => sealedKeys,
    changes: PUBLISHED,
    changeVariables: { to: address },
    isLocal: true,
  });
  return (
    <Section title="Sealed keys for you" actions={list.liveness && <Live liveness={list.liveness} />} isFlush>
      <ListTable
        label="Sealed keys"
        list={list}
        columns={SEALED}
        keyOf={({ id }) => id}
        empty="No sealed keys yet."
      />
    </Section>
  );
}

function Keys({ of: { keys } }: { of: Sealed }) {
  return keys.map((key) => (
    <details key={key.index}>
      <summary>
        key {key.index}, {key.sizeBytes} bytes
      </summary>
      <p>
        Opens <code className="selectable">{key.dataHash ?? "unknown data"}</code>
      </p>
      <code className="selectable">{key.key}</code>
      {key.truncated && <Note>The key is truncated here.</Note>}
    </details>
  ));
}

const OWNED: readonly Column<Token>[] = [
  { id: "token", name: "Token", cell: ({ tokenId }) => tokenId },
  { id: "contract", name: "Contract", cell: ({ contract }) => <Hash of={contract} withCopy /> },
  {
    id: "data",
    name: "Data",
    cell: ({ data }) =>
      data.map(({ index, description, dataHash }) => (
        <div key={index}>
          {description} <Hash of={dataHash} />
        </div>
      )),
  },
  {
    id: "users",
    name: "Authorized users",
    cell: ({ authorizedUsers: users }) =>
      users.length === 0 ? (
        <span className="quiet">owner only</span>
      ) : (
        users.map(({ address }) => (
          <div key={address}>
            <Hash of={address} />
          </div>
        ))
      ),
  },
  {
    id: "notes",
    name: "Notes",
    cell: ({ movedWithoutKey }) => movedWithoutKey && <Pill tone="bad">transferred without its key</Pill>,
  },
];

function Owned({ address }: { address: string }) {
  const list = useList({
    query: TOKENS,
    variables: { owner: address },
    pick: ({ agentTokens }) => agentTokens,
    isLocal: true,
  });
  return (
    <Section title="Your agent tokens" isFlush>
      <ListTable
        label="Agent tokens"
        list={list}
        columns={OWNED}
        keyOf={({ id }) => id}
        empty="This account has no agent tokens."
      />
    </Section>
  );
}
