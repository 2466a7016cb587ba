import { Button } from "@mantine/core";
import { useMemo } from "react";
import { secondsText } from "../../data/durations.ts";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, Pill } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import type { FaultyWebhook, OpenDialog, Operations } from "./operations-query.ts";

/** The webhooks that are not delivered to. */
export function WebhookFaults({
  webhooks,
  onOpen,
}: {
  webhooks: Operations["webhooks"];
  onOpen(open: OpenDialog): void;
}) {
  const columns = useMemo(() => columnsOf(onOpen), [onOpen]);
  const { pendingCount, failingCount, disabledCount, oldestWaitingSeconds, faulty } = webhooks;
  const oldest = pendingCount > 0 ? `, the oldest event for ${secondsText(oldestWaitingSeconds)}` : "";
  return (
    <Section
      title="Webhooks"
      about={`${pendingCount} with events that wait${oldest}. ${failingCount} failing, ${disabledCount} disabled.`}
      isFlush
    >
      <DataTable
        label="Webhooks with faults"
        columns={columns}
        rows={faulty}
        keyOf={({ webhookId }) => webhookId}
        empty={<EmptyState title="Every webhook is delivered to." />}
      />
    </Section>
  );
}

function columnsOf(onOpen: (open: OpenDialog) => void): readonly Column<FaultyWebhook>[] {
  return [
    { id: "name", name: "Webhook", cell: ({ name }) => <span className="user-text">{name}</span> },
    { id: "account", name: "Account", cell: ({ accountAddress }) => <Hash of={accountAddress} withCopy /> },
    { id: "host", name: "Host", cell: ({ host }) => <span className="user-text">{host}</span> },
    {
      id: "state",
      name: "State",
      cell: ({ disabledReason }) =>
        disabledReason ? (
          <Pill tone={disabledReason === "OWNER" ? "calm" : "bad"}>
            {disabledReason === "OWNER" ? "disabled by its owner" : `disabled: ${inWords(disabledReason)}`}
          </Pill>
        ) : (
          <Pill tone="busy">failing</Pill>
        ),
    },
    { id: "since", name: "Since", cell: ({ startedAt }) => <Time at={startedAt} /> },
    {
      id: "failures",
      name: "Failed attempts",
      isNumber: true,
      cell: ({ failureCount }) => failureCount.toLocaleString("en"),
    },
    {
      id: "actions",
      name: "",
      cell: (webhook) =>
        webhook.disabledReason &&
        webhook.disabledReason !== "OWNER" && (
          <Button
            size="xs"
            variant="default"
            aria-label={`Enable again: ${webhook.name}`}
            onClick={() => onOpen({ kind: "enable", webhook })}
          >
            Enable again
          </Button>
        ),
    },
  ];
}
