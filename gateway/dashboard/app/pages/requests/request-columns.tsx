import { Amount } from "../../parts/amount.tsx";
import type { Column } from "../../parts/column.ts";
import { Hash } from "../../parts/hash.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Time } from "../../parts/time.tsx";
import { SERVICES } from "./request-search.ts";
import type { RequestRow } from "./requests-query.ts";

const count = (value: number | null) => value?.toLocaleString("en") ?? "–";
const milliseconds = (value: number | null) => (value === null ? "–" : `${value.toLocaleString("en")} ms`);

/** The columns of the list. Each is also one of its file. */
export const REQUEST_COLUMNS: readonly (Column<RequestRow> & { text(row: RequestRow): string })[] = [
  {
    id: "when",
    name: "When",
    sort: "CREATED",
    cell: ({ createdAt }) => <Time at={createdAt} />,
    text: (row) => row.createdAt,
  },
  {
    id: "id",
    name: "ID",
    isHidden: true,
    cell: ({ requestId }) => <Hash of={requestId} withCopy />,
    text: (row) => row.requestId,
  },
  { id: "model", name: "Model", cell: ({ modelId }) => modelId, text: (row) => row.modelId },
  {
    id: "service",
    name: "Service",
    isHidden: true,
    cell: ({ serviceType }) => SERVICES[serviceType],
    text: (row) => row.serviceType,
  },
  { id: "key", name: "Key", cell: ({ apiKey }) => apiKey?.name, text: (row) => row.apiKey?.name ?? "" },
  {
    id: "tags",
    name: "Tags",
    isHidden: true,
    cell: ({ tags }) => <span className="tags-cell">{textOf(tags)}</span>,
    text: ({ tags }) => textOf(tags),
  },
  {
    id: "state",
    name: "State",
    cell: ({ status, errorCode }) => (
      <>
        <StateBadge state={status} /> {errorCode && <code>{errorCode}</code>}
      </>
    ),
    text: (row) => row.status,
  },
  {
    id: "error",
    name: "Error",
    isHidden: true,
    cell: ({ errorCode }) => errorCode && <code>{errorCode}</code>,
    text: (row) => row.errorCode ?? "",
  },
  {
    id: "cost",
    name: "Cost",
    sort: "COST",
    isNumber: true,
    cell: ({ cost }) => cost && <Amount neuron={cost.total} places={6} />,
    // Neuron: exact.
    text: (row) => row.cost?.total ?? "",
  },
  {
    id: "input",
    name: "In",
    isNumber: true,
    cell: ({ inputTokens }) => count(inputTokens),
    text: (row) => String(row.inputTokens ?? ""),
  },
  {
    id: "cached",
    name: "Cached",
    isNumber: true,
    isHidden: true,
    cell: ({ cachedTokens }) => count(cachedTokens),
    text: (row) => String(row.cachedTokens ?? ""),
  },
  {
    id: "output",
    name: "Out",
    isNumber: true,
    cell: ({ outputTokens }) => count(outputTokens),
    text: (row) => String(row.outputTokens ?? ""),
  },
  {
    id: "firstByte",
    name: "First byte",
    isNumber: true,
    cell: ({ timing }) => milliseconds(timing.firstByteMs),
    text: (row) => String(row.timing.firstByteMs ?? ""),
  },
  {
    id: "duration",
    name: "Duration",
    isNumber: true,
    isHidden: true,
    cell: ({ timing }) => milliseconds(timing.durationMs),
    text: (row) => String(row.timing.durationMs ?? ""),
  },
  {
    id: "provider",
    name: "Provider",
    cell: ({ providerAddress }) => <Hash of={providerAddress} />,
    text: (row) => row.providerAddress,
  },
  {
    id: "evidence",
    name: "Evidence",
    cell: ({ evidence }) =>
      evidence ? <StateBadge state={evidence.verdict} /> : <span className="quiet">–</span>,
    text: (row) => row.evidence?.verdict ?? "",
  },
];

function textOf(tags: RequestRow["tags"]): string {
  return tags.map(({ name, value }) => `${name}=${value}`).join(", ");
}
