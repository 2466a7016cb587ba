import { Link, useParams } from "@tanstack/react-router";
import { useQuery } from "urql";
import { milliseconds } from "../../data/durations.ts";
import { useKept } from "../../data/query/use-kept.ts";
import { usePolling } from "../../data/query/use-polling.ts";
import { Breadcrumb } from "../../parts/page/breadcrumb.tsx";
import { Columns, Page, Pair, Pairs, Section, Stat, Stats } from "../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../parts/page/states.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { attestationText, trustText } from "../../parts/value/attestation.ts";
import { ClockTime, FullTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import { PriceCard } from "./price-card.tsx";
import { EvidenceCard, ReceiptCard } from "./request-evidence.tsx";
import { REQUEST, type Request } from "./request-query.ts";
import { RoutingCard } from "./routing-card.tsx";
import { Waterfall } from "./waterfall.tsx";
import "./requests.css";

const count = (value: number | null) => value?.toLocaleString("en") ?? "–";
const duration = (value: number | null) => (value === null ? "–" : milliseconds(value));

/** How often a request in progress is read again. */
const EVERY_MS = 2_000;
/** The evidence of an answer is written after its charge: the provider's signature is waited for (`TEE_CHECK_MS`). */
const EVIDENCE_MS = 15_000;

/** The details of one request; read again until it has ended, and for a while until it has evidence. */
export function RequestPage() {
  const { id } = useParams({ from: "/requests/$id" });
  return <OneRequest key={id} id={id} />;
}

function OneRequest({ id }: { readonly id: string }) {
  const [read, query] = useQuery({ query: REQUEST, variables: { id } });
  const { error, fetching } = read;
  const data = useKept(id, { data: read.data, error, fetching });
  const refetch = () => query({ requestPolicy: "network-only" });
  usePolling(refetch, data?.request && mayChange(data.request) ? EVERY_MS : null);
  return (
    <Page title="Request" above={<Breadcrumb list="Requests" to="/requests" id={id} />}>
      <Outcome
        value={data && (data.request ?? null)}
        error={error}
        fetching={fetching}
        onRetry={refetch}
        empty={<EmptyState title="Request not found." />}
      >
        {(row) => (
          <>
            <Figures of={row} />
            <Columns>
              <Details of={row} />
              <PriceCard of={row} />
            </Columns>
            <Columns>
              <Waterfall of={row} />
              <Events of={row} />
            </Columns>
            {row.routing && <RoutingCard of={row.routing} />}
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

function mayChange({ status, finishedAt, evidence }: Request): boolean {
  if (status === "RUNNING") return true;
  return evidence === null && finishedAt !== null && Date.now() - Date.parse(finishedAt) < EVIDENCE_MS;
}

function Figures({ of: row }: { of: Request }) {
  return (
    <Stats>
      <Stat label="State" hint={row.errorCode && <code>{row.errorCode}</code>}>
        <StateBadge state={row.status} />
      </Stat>
      <Stat label="Cost">
        {row.cost ? <Amount neuron={row.cost.total} places={9} withUsd /> : "not settled"}
      </Stat>
      <Stat
        label={
          row.usageEstimated ? "Input / output tokens (counted by the gateway)" : "Input / output tokens"
        }
      >
        {count(row.inputTokens)} / {count(row.outputTokens)}
      </Stat>
      <Stat label="Time to first token / total">
        {duration(row.timing.firstByteMs)} / {duration(row.timing.durationMs)}
      </Stat>
    </Stats>
  );
}

function Details({ of: row }: { of: Request }) {
  return (
    <Section title="Details">
      <Pairs>
        <Pair name="Created">
          <FullTime at={row.createdAt} />
        </Pair>
        <Pair name="Model">
          <Link to="/models/$id" params={{ id: row.modelId }}>
            {row.modelId}
          </Link>
        </Pair>
        <Pair name="Provider">
          <Hash of={row.providerAddress} isWhole withCopy />
        </Pair>
        <Pair name="Trust">
          {row.provider
            ? `${trustText(row.provider.trustMode)}, ${attestationText(row.provider)}`
            : "unknown"}
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
          <strong>Accepted</strong> <ClockTime at={createdAt} />: its highest possible cost is held
        </li>
        {finishedAt && (
          <li>
            <strong>{ENDED[status] ?? inWords(status)}</strong> <ClockTime at={finishedAt} />
          </li>
        )}
        {evidence && (
          <li>
            <strong>Signature checked</strong> <ClockTime at={evidence.checkedAt} />:{" "}
            {inWords(evidence.verdict)}
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
