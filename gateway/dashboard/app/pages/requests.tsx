import { useState } from "react";
import { useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { graphql } from "../graph.ts";
import { Link } from "../router.tsx";
import { Field } from "../ui/controls.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Card, Figure, Hash, Live, Money, Outcome, Page, Table, Time } from "../ui/show.tsx";
import { useRefresh } from "../ui/use-refresh.ts";
import { EvidenceCard, ReceiptCard } from "./request-evidence.tsx";

const REQUESTS = graphql(`
  query Requests($after: Cursor) {
    viewer {
      account {
        requests(first: 50, after: $after) {
          nodes {
            requestId createdAt modelId providerAddress status errorCode inputTokens outputTokens cost { total }
            timing { firstByteMs durationMs } apiKey { name } evidence { verdict }
          }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
`);
const MOVED = graphql(`
  subscription RequestsMoved($after: Cursor) { balanceChanged(after: $after) { cursor cause } }
`);
const REQUEST = graphql(`
  query Request($id: ID!) {
    request(id: $id) {
      requestId createdAt finishedAt status serviceType modelId inputTokens outputTokens usageEstimated errorCode
      cost { input output total }
      providerAddress
      provider {
        url trustMode verifiability onChain { inputPrice outputPrice teeSigner teeAcknowledged }
        attestation { passed quote failures checkedAt }
      }
      timing { firstByteMs durationMs }
      apiKey { name preview }
      routing {
        attempts { providerAddress outcome reason status durationMs }
        excluded { providerAddress reason }
      }
      evidence { verdict signer expectedSigner requestBound responseBound checkedAt }
    }
  }
`);

/** Ids are ours, or sent by a client as `X-Request-ID`. */
const ID = /^[A-Za-z0-9._:-]{8,64}$/;

/** All requests, or the details of one. */
export function RequestsPage({ id }: { id: string | undefined }) {
  return id ? <OneRequest id={decodeURIComponent(id)} /> : <AllRequests />;
}

function AllRequests() {
  const pages = usePages();
  const [search, setSearch] = useState("");
  const [{ data, error, fetching }, refetch] = useQuery({
    query: REQUESTS,
    variables: { after: pages.after },
  });
  // Every request changes the balance twice: when it starts and when it ends.
  const refresh = useRefresh(() => refetch({ requestPolicy: "network-only" }));
  const liveness = useLive(MOVED, {}, { onEvent: refresh });
  const requests = data?.viewer?.account?.requests;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = requests?.nodes.filter((row) => {
    const { requestId, modelId, providerAddress, status, errorCode, apiKey, evidence } = row;
    const text = [requestId, modelId, providerAddress, status, errorCode, apiKey?.name, evidence?.verdict]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <Page
      title="Requests"
      about="Every request with its provider and cost. Prompts and answers are not stored."
      actions={<Live liveness={liveness} />}
    >
      <Field
        label="Search this page"
        type="search"
        value={search}
        placeholder="model, provider, key, state, evidence, error or id"
        hint={requests ? `${rows?.length ?? 0} of ${requests.nodes.length} on this page.` : " "}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      {ID.test(search.trim()) && rows?.length === 0 && (
        <p>
          <Link to={`/requests/${encodeURIComponent(search.trim())}`}>
            Search for this ID in all requests
          </Link>
        </p>
      )}
      <Outcome
        rows={rows}
        error={error}
        fetching={fetching}
        empty={words.length > 0 ? "Nothing on this page matches." : "No requests yet."}
      >
        {(found) => (
          <Table
            label="Requests"
            heads={["When", "Model", "Provider", "Key", "State", "Evidence", "Tokens", "First byte", "Cost"]}
          >
            {found.map((row) => (
              <tr key={row.requestId}>
                <td>
                  <Link to={`/requests/${row.requestId}`}>
                    <Time at={row.createdAt} />
                  </Link>
                </td>
                <td>{row.modelId}</td>
                <td>
                  <Hash of={row.providerAddress} />
                </td>
                <td>{row.apiKey?.name}</td>
                <td>
                  <Badge state={row.status} /> {row.errorCode && <code>{row.errorCode}</code>}
                </td>
                <td>
                  {row.evidence ? <Badge state={row.evidence.verdict} /> : <span className="quiet">–</span>}
                </td>
                <td className="number">
                  {row.inputTokens ?? "–"} / {row.outputTokens ?? "–"}
                </td>
                <td className="number">
                  {row.timing.firstByteMs === null ? "–" : `${row.timing.firstByteMs} ms`}
                </td>
                <td>{row.cost && <Money neuron={row.cost.total} places={9} />}</td>
              </tr>
            ))}
          </Table>
        )}
      </Outcome>
      {pages.pager(requests?.pageInfo)}
    </Page>
  );
}

function OneRequest({ id }: { id: string }) {
  const [{ data, error, fetching }] = useQuery({ query: REQUEST, variables: { id } });
  const request = data?.request;
  return (
    <Page title="Request" about={id}>
      <Outcome
        rows={data ? (request ? [request] : []) : undefined}
        error={error}
        fetching={fetching}
        empty="Request not found."
      >
        {([row]) =>
          row && (
            <>
              <dl className="figures">
                <Figure label="State">
                  <Badge state={row.status} /> {row.errorCode && <code>{row.errorCode}</code>}
                </Figure>
                <Figure label="Cost">
                  {row.cost ? <Money neuron={row.cost.total} places={12} /> : "not settled"}
                </Figure>
                <Figure label={row.usageEstimated ? "Tokens (counted by us)" : "Tokens in / out"}>
                  {row.inputTokens ?? "–"} / {row.outputTokens ?? "–"}
                </Figure>
                <Figure label="First byte / total">
                  {row.timing.firstByteMs ?? "–"} / {row.timing.durationMs ?? "–"} ms
                </Figure>
              </dl>
              <div className="columns">
                <Card title="Details">
                  <dl className="pairs">
                    <dt>Model</dt>
                    <dd>{row.modelId}</dd>
                    <dt>Provider</dt>
                    <dd>
                      <code className="selectable">{row.providerAddress}</code>
                    </dd>
                    <dt>Trust</dt>
                    <dd>
                      {row.provider?.trustMode.toLowerCase() ?? "unknown"}
                      {row.provider?.verifiability && ` (${row.provider.verifiability})`}
                    </dd>
                    <dt>Key</dt>
                    <dd>{row.apiKey ? `${row.apiKey.name} (${row.apiKey.preview})` : "none"}</dd>
                    <dt>Received</dt>
                    <dd>
                      <Time at={row.createdAt} />
                    </dd>
                  </dl>
                </Card>
                <EvidenceCard evidence={row.evidence} attestation={row.provider?.attestation} />
              </div>
              <ReceiptCard id={row.requestId} />
              {row.routing && (
                <Card title="Routing">
                  <ol className="timeline">
                    {row.routing.attempts.map((attempt) => (
                      <li key={attempt.providerAddress + attempt.outcome}>
                        <Hash of={attempt.providerAddress} /> {attempt.outcome.toLowerCase()} in{" "}
                        {attempt.durationMs} ms
                        {attempt.reason && <code> {attempt.reason}</code>}
                      </li>
                    ))}
                    {row.routing.excluded.map((excluded) => (
                      <li key={excluded.providerAddress + excluded.reason} className="quiet">
                        <Hash of={excluded.providerAddress} /> not tried:{" "}
                        {excluded.reason.toLowerCase().replaceAll("_", " ")}
                      </li>
                    ))}
                  </ol>
                </Card>
              )}
            </>
          )
        }
      </Outcome>
    </Page>
  );
}
