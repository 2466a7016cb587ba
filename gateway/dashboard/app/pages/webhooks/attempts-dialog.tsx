import { Button } from "@mantine/core";
import { Dialog, DialogButtons } from "../../parts/form/dialog.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import { type Attempt, type Webhook, wordsOf } from "./webhook.ts";

const ATTEMPTS: readonly Column<Attempt>[] = [
  { id: "created", name: "Created", cell: ({ attemptedAt }) => <ClockTime at={attemptedAt} /> },
  {
    id: "state",
    name: "State",
    cell: ({ result }) => <StateBadge state={result.failure === null ? "DELIVERED" : result.failure} />,
  },
  { id: "event", name: "Event", cell: ({ event }) => inWords(event) },
  { id: "number", name: "Number", isNumber: true, cell: ({ sequence }) => sequence },
  { id: "outcome", name: "Outcome", cell: ({ result }) => wordsOf(result) },
  { id: "id", name: "Event ID", cell: ({ eventId }) => <Hash of={eventId} withCopy /> },
];

/** The last attempts of a webhook, with why they failed. */
export function AttemptsDialog({
  webhook,
  refresh,
  onClose,
}: {
  webhook: Webhook;
  refresh(): void;
  onClose(): void;
}) {
  return (
    <Dialog title={`Delivery log of ${webhook.name}`} onClose={onClose} size="xl">
      <DataTable
        label="Delivery log"
        columns={ATTEMPTS}
        rows={webhook.attempts}
        keyOf={({ number }) => String(number)}
        empty="Nothing was delivered yet."
      />
      <DialogButtons>
        <Button variant="default" onClick={refresh}>
          Refresh
        </Button>
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
