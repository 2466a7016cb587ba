import { Button, Group } from "@mantine/core";
import { useMemo } from "react";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { type Circuit, joinCircuits } from "./circuits.ts";
import type { OpenDialog, ServiceProcess } from "./operations-query.ts";

/** The providers that processes do not send requests to, or that failed lately. */
export function CircuitTable({
  processes,
  onOpen,
}: {
  processes: readonly ServiceProcess[];
  onOpen(open: OpenDialog): void;
}) {
  const reporting = processes.filter(({ silent }) => !silent).length;
  const columns = useMemo(() => columnsOf(reporting, onOpen), [reporting, onOpen]);
  return (
    <Section
      title="Providers' circuits"
      about="Providers that receive no requests, or failed in the last hour. A circuit opens after three failures in a row, for each process by itself."
      actions={
        <Button variant="default" size="xs" onClick={() => onOpen({ kind: "pause" })}>
          Pause a provider
        </Button>
      }
      isFlush
    >
      <DataTable
        label="Circuits"
        columns={columns}
        rows={joinCircuits(processes)}
        keyOf={({ providerAddress, modelId }) => `${providerAddress} ${modelId}`}
        empty={<EmptyState title="Every provider receives requests, and none failed in the last hour." />}
      />
    </Section>
  );
}

function columnsOf(reporting: number, onOpen: (open: OpenDialog) => void): readonly Column<Circuit>[] {
  return [
    { id: "model", name: "Model", cell: ({ modelId }) => modelId },
    {
      id: "provider",
      name: "Provider",
      cell: ({ providerAddress }) => <Hash of={providerAddress} withCopy />,
    },
    { id: "state", name: "State", cell: ({ state }) => <StateBadge state={state} /> },
    {
      id: "processes",
      name: "Processes",
      isNumber: true,
      cell: ({ processes }) => `${processes} of ${reporting}`,
    },
    {
      id: "since",
      name: "Since",
      cell: ({ openedAt, pauseEndsAt }) =>
        pauseEndsAt && !openedAt ? (
          <>
            ends <Time at={pauseEndsAt} />
          </>
        ) : (
          <Time at={openedAt} none="–" />
        ),
    },
    {
      id: "failure",
      name: "Last failure",
      cell: ({ failureKind, failedAt }) =>
        failureKind ? (
          <>
            {inWords(failureKind)}{" "}
            <span className="quiet">
              <Time at={failedAt} />
            </span>
          </>
        ) : (
          "–"
        ),
    },
    {
      id: "actions",
      name: "",
      cell: ({ providerAddress, modelId, state }) => (
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {state !== "CLOSED" && (
            <Button
              size="xs"
              variant="default"
              aria-label={`Use again: ${modelId} of ${providerAddress}`}
              onClick={() => onOpen({ kind: "close", providerAddress })}
            >
              Use again
            </Button>
          )}
          {state !== "PAUSED" && (
            <Button
              size="xs"
              variant="default"
              aria-label={`Pause: ${modelId} of ${providerAddress}`}
              onClick={() => onOpen({ kind: "pause", providerAddress })}
            >
              Pause
            </Button>
          )}
        </Group>
      ),
    },
  ];
}
