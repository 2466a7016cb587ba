import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import ExternalLink from "lucide-react/icons/external-link";
import { useState } from "react";
import { secondsText } from "../../data/durations.ts";
import { usePolled } from "../../data/query/use-polled.ts";
import { Page, Stat, Stats } from "../../parts/page/page.tsx";
import { Outcome } from "../../parts/page/states.tsx";
import { Pill } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { CircuitTable } from "./circuit-table.tsx";
import { joinCircuits } from "./circuits.ts";
import { LedgerCard } from "./ledger-card.tsx";
import { OperationDialogs } from "./operation-dialogs.tsx";
import "./operations.css";
import { OPERATIONS, type OpenDialog, type Operations } from "./operations-query.ts";
import { Processes } from "./processes.tsx";
import { Queues, Watchers } from "./queues.tsx";
import { WebhookFaults } from "./webhook-faults.tsx";

const EVERY_MS = 5_000;

/** The state of the whole service, for its operators. */
export function OperationsPage() {
  const { data, error, fetching, refresh } = usePolled(OPERATIONS, EVERY_MS);
  const [open, setOpen] = useState<OpenDialog>();
  const operations = data?.operations;
  return (
    <Page
      title="Operations"
      about="The state of this service across all of its processes."
      actions={
        operations && (
          <>
            <span role="status" className="live">
              <Pill tone={error ? "bad" : "good"}>{error ? "not live" : "live"}</Pill>
            </span>
            <Button component={Link} to="/node" variant="default">
              Node
            </Button>
            {operations.grafanaUrl && (
              <Button
                component="a"
                href={operations.grafanaUrl}
                target="_blank"
                rel="noreferrer"
                variant="default"
                rightSection={<ExternalLink size={14} aria-hidden="true" />}
              >
                Grafana
              </Button>
            )}
          </>
        )
      }
    >
      <Outcome value={operations} error={error} fetching={fetching} onRetry={refresh} lines={12}>
        {(of) => (
          <>
            <Figures of={of} />
            <Processes processes={of.processes} />
            <CircuitTable processes={of.processes} onOpen={setOpen} />
            <Queues queues={of.queues} />
            <Watchers watchers={of.watchers} />
            <WebhookFaults webhooks={of.webhooks} onOpen={setOpen} />
            <LedgerCard check={of.ledgerCheck} onOpen={setOpen} />
          </>
        )}
      </Outcome>
      <OperationDialogs
        open={open}
        onClose={() => {
          setOpen(undefined);
          refresh();
        }}
      />
    </Page>
  );
}

/** What an operator looks at first. */
function Figures({ of: { processes, queues, webhooks, ledgerCheck } }: { of: Operations }) {
  const silent = processes.filter((process) => process.silent).length;
  const slowest = Math.max(0, ...processes.map(({ eventLoopDelayP99Ms }) => eventLoopDelayP99Ms));
  const subscriptions = processes.reduce((sum, { subscriptionCount }) => sum + subscriptionCount, 0);
  const streams = processes.reduce((sum, { eventStreamCount }) => sum + eventStreamCount, 0);
  const waiting = queues.jobs.reduce((sum, { waitingCount }) => sum + waitingCount, 0);
  const oldest = Math.max(0, ...queues.jobs.map(({ oldestWaitingSeconds }) => oldestWaitingSeconds));
  const down = joinCircuits(processes).filter(({ state }) => state !== "CLOSED").length;
  const faulty = webhooks.failingCount + webhooks.disabledCount;
  return (
    <Stats>
      <Stat label="Processes" hint={silent > 0 ? <Pill tone="bad">{silent} silent</Pill> : "all report"}>
        {processes.length}
      </Stat>
      <Stat label="Event loop, p99" hint="the slowest process">
        {slowest >= 10 ? Math.round(slowest) : slowest.toFixed(1)} ms
      </Stat>
      <Stat label="Open subscriptions" hint={`in ${streams.toLocaleString("en")} event streams`}>
        {subscriptions.toLocaleString("en")}
      </Stat>
      <Stat label="Waiting jobs" hint={waiting > 0 ? `the oldest for ${secondsText(oldest)}` : "none waits"}>
        {waiting.toLocaleString("en")}
      </Stat>
      <Stat
        label="Unpublished events"
        hint={
          queues.unpublishedEventCount > 0
            ? `the oldest for ${secondsText(queues.oldestUnpublishedSeconds)}`
            : "none waits"
        }
      >
        {queues.unpublishedEventCount.toLocaleString("en")}
      </Stat>
      <Stat label="Providers out of use" hint={down > 0 ? "see their circuits" : "all receive requests"}>
        {down}
      </Stat>
      <Stat label="Webhooks with faults" hint={`${webhooks.pendingCount} with events that wait`}>
        {faulty.toLocaleString("en")}
      </Stat>
      <Stat label="Ledger" hint={ledgerCheck ? <Time at={ledgerCheck.endedAt} /> : "never checked"}>
        {ledgerCheck ? (ledgerCheck.faultCount === 0 ? "exact" : `${ledgerCheck.faultCount} faults`) : "–"}
      </Stat>
    </Stats>
  );
}
