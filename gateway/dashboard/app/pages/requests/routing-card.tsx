import { Section } from "../../parts/page/page.tsx";
import { Note } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { StateBadge } from "../../parts/value/state-badge.tsx";
import { inTime } from "./phases.ts";
import type { Routing } from "./request-query.ts";

/** Why a provider was not called. */
const REASONS: Readonly<Record<string, string>> = {
  NOT_PINNED: "The request was pinned to another provider.",
  NOT_IN_ONLY: "The request named the providers that may answer it, without this one.",
  IGNORED: "The request excluded it.",
  NOT_ALLOWED_FOR_KEY: "The key may not use it.",
  FORMAT_NOT_SUPPORTED: "It does not support the API of the request.",
  UNROUTABLE: "Its URL is not allowed.",
  SIGNER_NOT_ACKNOWLEDGED: "The network did not acknowledge its signer.",
  BELOW_TRUST_MODE: "Its trust is below what was required.",
  LACKS_EVIDENCE: "It gave no recent evidence of the required kind.",
  ABOVE_MAX_PRICE: "Its price was above the highest allowed one.",
  CONTEXT_TOO_SHORT: "Its context is too short for the request.",
  CIRCUIT_OPEN: "It failed repeatedly, and was left out for a while.",
  RESTING: "It requested a pause.",
  FALLBACKS_OFF: "The request allowed no other provider than the first.",
  ENOUGH_CANDIDATES: "Better ones came first: at most three are tried.",
};

type Considered = {
  readonly key: string;
  readonly address: string;
  readonly model: string | null;
  readonly state: string;
  readonly detail: string;
};

const COLUMNS: readonly Column<Considered>[] = [
  { id: "provider", name: "Provider", cell: ({ address }) => <Hash of={address} withCopy /> },
  { id: "result", name: "Result", cell: ({ state }) => <StateBadge state={state} /> },
  { id: "detail", name: "Why", cell: ({ detail }) => detail },
];
const MODEL: Column<Considered> = { id: "model", name: "Model", cell: ({ model }) => model };

/** Which providers were called, in their order, and which were not, and why. */
export function RoutingCard({ of: { attempts, excluded, cachedByAddress } }: { of: Routing }) {
  const rows: readonly Considered[] = [
    ...attempts.map(({ providerAddress, modelId, outcome, reason, status, durationMs }, n) => ({
      key: `attempt ${n}`,
      address: providerAddress,
      model: modelId,
      state: outcome,
      detail: `Attempt ${n + 1}, ${inTime(durationMs)}${reason ? `: ${reason}` : ""}${status ? `, status ${status}` : ""}`,
    })),
    ...excluded.map(({ providerAddress, modelId, reason }, n) => ({
      key: `excluded ${n}`,
      address: providerAddress,
      model: modelId,
      state: "NOT_ASKED",
      detail: REASONS[reason] ?? reason.toLowerCase().replaceAll("_", " "),
    })),
  ];
  const hasModels = rows.some(({ model }) => model !== null);
  return (
    <Section title="Routing" about="Providers considered, in routing order." isFlush>
      <DataTable
        label="Routing"
        columns={hasModels ? [...COLUMNS.slice(0, 1), MODEL, ...COLUMNS.slice(1)] : COLUMNS}
        rows={rows}
        keyOf={({ key }) => key}
        empty="No provider was considered."
      />
      {cachedByAddress && (
        <div className="row-of-controls below">
          <Note>
            <Hash of={cachedByAddress} /> answered the conversation last, and so probably had the prompt
            cached.
          </Note>
        </div>
      )}
    </Section>
  );
}
