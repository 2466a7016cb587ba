import { useParams } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useQuery } from "urql";
import { graphql } from "../../data/graph.ts";
import { Amount } from "../../parts/amount.tsx";
import { Hash } from "../../parts/hash.tsx";
import { Columns, Page, Pair, Pairs, Section, Stat, Stats } from "../../parts/page.tsx";
import { inWords, StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState, Outcome } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { EvidenceCard, ReceiptCard } from "./request-evidence.tsx";

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

type Request = NonNullable<ResultOf<typeof REQUEST>["request"]>;

/** The details of one request. */
export function RequestPage() {
  const { id } = useParams({ from: "/requests/$id" });
  const [{ data, error, fetching }, refetch] = useQuery({ query: REQUEST, variables: { id } });
  return (
    <Page title="Request" about={id}>
      <Outcome
        value={data && (data.request ?? null)}
        error={error}
        fetching={fetching}
        onRetry={() => refetch({ requestPolicy: "network-only" })}
        empty={<EmptyState title="Request not found." />}
      >
        {(row) => (
          <>
            <Figures of={row} />
            <Columns>
              <Details of={row} />
              <EvidenceCard evidence={row.evidence} attestation={row.provider?.attestation} />
            </Columns>
            <ReceiptCard id={row.requestId} />
            {row.routing && <Routing of={row.routing} />}
          </>
        )}
      </Outcome>
    </Page>
  );
}

function Figures({ of: row }: { of: Request }) {
  return (
    <Stats>
      <Stat label="State" hint={row.errorCode && <code>{row.errorCode}</code>}>
        <StateBadge state={row.status} />
      </Stat>
      <Stat label="Cost">
        {row.cost ? <Amount neuron={row.cost.total} places={12} withUsd /> : "not settled"}
      </Stat>
      <Stat label={row.usageEstimated ? "Tokens (counted by us)" : "Tokens in / out"}>
        {row.inputTokens ?? "–"} / {row.outputTokens ?? "–"}
      </Stat>
      <Stat label="First byte / total">
        {row.timing.firstByteMs ?? "–"} / {row.timing.durationMs ?? "–"} ms
      </Stat>
    </Stats>
  );
}

function Details({ of: row }: { of: Request }) {
  return (
    <Section title="Details">
      <Pairs>
        <Pair name="Model">{row.modelId}</Pair>
        <Pair name="Provider">
          <code className="selectable">{row.providerAddress}</code>
        </Pair>
        <Pair name="Trust">
          {row.provider?.trustMode.toLowerCase() ?? "unknown"}
          {row.provider?.verifiability && ` (${row.provider.verifiability})`}
        </Pair>
        <Pair name="Key">{row.apiKey ? `${row.apiKey.name} (${row.apiKey.preview})` : "none"}</Pair>
        <Pair name="Received">
          <Time at={row.createdAt} />
        </Pair>
      </Pairs>
    </Section>
  );
}

function Routing({ of: { attempts, excluded } }: { of: NonNullable<Request["routing"]> }) {
  return (
    <Section title="Routing">
      <ol className="timeline">
        {attempts.map((attempt) => (
          <li key={attempt.providerAddress + attempt.outcome}>
            <Hash of={attempt.providerAddress} /> {attempt.outcome.toLowerCase()} in {attempt.durationMs} ms
            {attempt.reason && <code> {attempt.reason}</code>}
          </li>
        ))}
        {excluded.map(({ providerAddress, reason }) => (
          <li key={providerAddress + reason} className="quiet">
            <Hash of={providerAddress} /> not tried: {inWords(reason)}
          </li>
        ))}
      </ol>
    </Section>
  );
}
