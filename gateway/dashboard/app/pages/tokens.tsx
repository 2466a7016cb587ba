import { useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { graphql } from "../graph.ts";
import { useSession } from "../session.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Card, Hash, Live, Outcome, Page, Table, Time } from "../ui/show.tsx";

const TOKENS = graphql(`
  query Tokens($owner: Address!, $after: Cursor) {
    agentTokens(filter: { owner: $owner }, first: 20, after: $after) {
      nodes {
        id contract tokenId generation movedWithoutKey blockNumber
        data { index description dataHash }
        authorizedUsers { address }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const INBOX = graphql(`
  query SealedKeys($to: Address!, $after: Cursor) {
    sealedKeys(to: $to, first: 20, after: $after) {
      nodes {
        id cause contract tokenId seenAt confirmations transactionHash
        from { address }
        keys { index dataHash key sizeBytes truncated }
      }
      pageInfo { hasNextPage endCursor }
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
      title="Tokens"
      about="Agent tokens (ERC-7857) of this account, and keys sealed for it. Only the receiver's wallet can open them."
    >
      <Inbox address={address} />
      <Owned address={address} />
    </Page>
  );
}

function Inbox({ address }: { address: string }) {
  const pages = usePages();
  const [{ data, error, fetching }, refetch] = useQuery({
    query: INBOX,
    variables: { to: address, after: pages.after },
  });
  const liveness = useLive(
    PUBLISHED,
    { to: address },
    { onEvent: () => refetch({ requestPolicy: "network-only" }) },
  );
  return (
    <Card title="Sealed keys for you" aside={<Live liveness={liveness} />}>
      <Outcome rows={data?.sealedKeys?.nodes} error={error} fetching={fetching} empty="No sealed keys yet.">
        {(rows) => (
          <Table label="Sealed keys" heads={["Seen", "Token", "Cause", "From", "Keys", "Confirmations"]}>
            {rows.map((sealed) => (
              <tr key={sealed.id}>
                <td>
                  <Time at={sealed.seenAt} />
                </td>
                <td>
                  {sealed.tokenId} of <Hash of={sealed.contract} />
                </td>
                <td>
                  <Badge state={sealed.cause} />
                </td>
                <td>{sealed.from ? <Hash of={sealed.from.address} /> : "–"}</td>
                <td>
                  {sealed.keys.map((key) => (
                    <details key={key.index}>
                      <summary>
                        key {key.index}, {key.sizeBytes} bytes
                      </summary>
                      <p>
                        Opens <code className="selectable">{key.dataHash ?? "unknown data"}</code>
                      </p>
                      <code className="selectable">{key.key}</code>
                      {key.truncated && <p className="quiet">The key is truncated here.</p>}
                    </details>
                  ))}
                </td>
                <td className="number">{sealed.confirmations}</td>
              </tr>
            ))}
          </Table>
        )}
      </Outcome>
      {pages.pager(data?.sealedKeys?.pageInfo)}
    </Card>
  );
}

function Owned({ address }: { address: string }) {
  const pages = usePages();
  const [{ data, error, fetching }] = useQuery({
    query: TOKENS,
    variables: { owner: address, after: pages.after },
  });
  return (
    <Card title="Your agent tokens">
      <Outcome
        rows={data?.agentTokens?.nodes}
        error={error}
        fetching={fetching}
        empty="This account has no agent tokens."
      >
        {(rows) => (
          <Table label="Agent tokens" heads={["Token", "Contract", "Data", "Authorized users", ""]}>
            {rows.map((token) => (
              <tr key={token.id}>
                <td className="number">{token.tokenId}</td>
                <td>
                  <Hash of={token.contract} />
                </td>
                <td>
                  {token.data.map((data) => (
                    <div key={data.index}>
                      {data.description} <Hash of={data.dataHash} />
                    </div>
                  ))}
                </td>
                <td>
                  {token.authorizedUsers.length === 0 && <span className="quiet">owner only</span>}
                  {token.authorizedUsers.map((user) => (
                    <div key={user.address}>
                      <Hash of={user.address} />
                    </div>
                  ))}
                </td>
                <td>
                  {token.movedWithoutKey && <span className="badge bad">transferred without its key</span>}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Outcome>
      {pages.pager(data?.agentTokens?.pageInfo)}
    </Card>
  );
}
