import { Link, useParams } from "@tanstack/react-router";
import { useQuery } from "urql";
import { Amount } from "../../parts/amount.tsx";
import { Hash } from "../../parts/hash.tsx";
import { Columns, Page, Pair, Pairs, Section, Stat, Stats } from "../../parts/page.tsx";
import { inWords, StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState, Outcome } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { PriceCard } from "./price-card.tsx";
import { EvidenceCard, ReceiptCard } from "./request-evidence.tsx";
import { REQUEST, type Request } from "./request-query.ts";
import { RoutingCard } from "./routing-card.tsx";
import { Waterfall } from "./waterfall.tsx";
import "./requests.css";

/** The details of one request. */
export function RequestPage() {
  const { id } = useParams({ from: "/requests/$id" });
  const [{ data, error, fetching }, refetch] = useQuery({ query: REQUEST, variables: { id } });
  return (
    <Page title="Request" about={<Hash of={id} isWhole withCopy />}>
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
              <Waterfall of={row} />
              <PriceCard of={row} />
            </Columns>
            {row.routing && <RoutingCard of={row.routing} />}
            <Columns>
              <Details of={row} />
              <Events of={row} />
            </Columns>
            <Columns>
              <EvidenceCard evidence={row.evidence} attestation={row.provider?.attestation} />
              <ReceiptCard id={row.requestId} />
            </Columns>
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
          <Hash of={row.providerAddress} isWhole withCopy />
        </Pair>
        <Pair name="Trust">
          {row.provider?.trustMode.toLowerCase() ?? "unknown"}
          {row.provider?.verifiability && ` (${row.provider.verifiability})`}
        </Pair>
        <Pair name="Key">{row.apiKey ? `${row.apiKey.name} (${row.apiKey.preview})` : "none"}</Pair>
        {row.tags.length > 0 && (
          <Pair name="Tags">{row.tags.map(({ name, value }) => `${name}=${value}`).join(", ")}</Pair>
        )}
        {row.cachedFrom !== null && (
          <Pair name="Stored answer of">
            <Link to="/requests/$id" params={{ id: row.cachedFrom }}>
              {row.cachedFrom}
            </Link>
          </Pair>
        )}
      </Pairs>
    </Section>
  );
}

/** What happened when, as the account's events say it. */
function Events({ of: { createdAt, finishedAt, status, evidence } }: { of: Request }) {
  return (
    <Section title="Events">
      <ol className="timeline">
        <li>
          <strong>Accepted</strong> <Time at={createdAt} />: its cost is held
        </li>
        {finishedAt && (
          <li>
            <strong>{ENDED[status] ?? inWords(status)}</strong> <Time at={finishedAt} />
          </li>
        )}
        {evidence && (
          <li>
            <strong>Signature verified</strong> <Time at={evidence.checkedAt} />: {inWords(evidence.verdict)}
          </li>
        )}
      </ol>
    </Section>
  );
}

const ENDED: Readonly<Record<string, string>> = {
  COMPLETED: "Completed and charged",
  FAILED: "Failed, and the hold released",
  ABORTED: "Left by its client, and charged for what was delivered",
};
