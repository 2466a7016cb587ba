import { Button } from "@mantine/core";
import { milliseconds } from "../../data/durations.ts";
import { Pair, Pairs, Section } from "../../parts/page/page.tsx";
import { Note } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Pill } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import type { LedgerCheck, OpenDialog } from "./operations-query.ts";

type Fault = LedgerCheck["faults"][number];

const FAULTS: readonly Column<Fault>[] = [
  { id: "fault", name: "Fault", cell: ({ fault }) => fault },
  { id: "subject", name: "Of", cell: ({ subject }) => <code>{subject}</code> },
];

/** The result of the last check of the ledger, and what may be done about held money. */
export function LedgerCard({ check, onOpen }: { check: LedgerCheck | null; onOpen(open: OpenDialog): void }) {
  return (
    <Section
      title="Ledger"
      about="A check compares every balance with the sum of its entries."
      actions={
        <>
          <Button variant="default" size="xs" onClick={() => onOpen({ kind: "release" })}>
            Release expired holds
          </Button>
          <Button variant="default" size="xs" onClick={() => onOpen({ kind: "verify" })}>
            Check now
          </Button>
        </>
      }
    >
      {check ? (
        <Pairs>
          <Pair name="Result">
            {check.faultCount === 0 ? (
              <Pill tone="good">exact</Pill>
            ) : (
              <Pill tone="bad">
                {check.faultCount} {check.faultCount === 1 ? "fault" : "faults"}
              </Pill>
            )}
          </Pair>
          <Pair name="Checked">
            <Time at={check.endedAt} />
          </Pair>
          <Pair name="Transfers read">
            {Number(check.transferCount).toLocaleString("en")}{" "}
            <span className="quiet">{check.full ? "all" : "new ones"}</span>
          </Pair>
          <Pair name="Duration">{milliseconds(check.durationMs)}</Pair>
        </Pairs>
      ) : (
        <Note>
          It was not checked yet. <code>npm run ledger:verify</code> checks it too, for example every night.
        </Note>
      )}
      {check && check.faults.length > 0 && (
        <DataTable
          label="Faults"
          columns={FAULTS}
          rows={check.faults}
          keyOf={({ fault, subject }) => `${fault} ${subject}`}
          empty=""
        />
      )}
    </Section>
  );
}
