import { toPlainTokens } from "../../data/amounts.ts";
import { milliseconds } from "../../data/durations.ts";
import type { Column } from "../../parts/table/column.ts";
import { Amount } from "../../parts/value/amount.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { serviceText } from "../../parts/value/service-names.ts";
import { StateBadge } from "../../parts/value/state-badge.tsx";
import type { RequestRow } from "./requests-query.ts";

const count = (value: number | null) => value?.toLocaleString("en") ?? "–";
const duration = (value: number | null) => (value === null ? "–" : milliseconds(value));

type RequestColumn = Column<RequestRow> & { text(row: RequestRow): string };

/** The columns of the list, with costs in tokens of the network's `symbol`. Each is also one of its file. */
export const requestColumns = (symbol: string): readonly RequestColumn[] => [
  {
    id: "created",
    name: "Created",
    sort: "CREATED",
    cell: ({ createdAt }) => <ClockTime at={createdAt} />,
    text: (row) => row.createdAt,
  },
  {
    id: "id",
    name: "ID",
    isHidden: true,
    cell: ({ requestId }) => <Hash of={requestId} withCopy />,
    text: (row) => row.requestId,
  },
  {
    id: "model",
    name: "Model",
    cell: ({ modelId }) => <span className="user-text">{modelId}</span>,
    text: (row) => row.modelId,
  },
  {
    id: "service",
    name: "Service",
    isHidden: true,
    cell: ({ serviceType }) => serviceText(serviceType),
    text: (row) => row.serviceType,
  },
  {
    id: "key",
    name: "Key",
    cell: ({ apiKey }) => apiKey && <span className="user-text">{apiKey.name}</span>,
    text: (row) => row.apiKey?.name ?? "",
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
    id: "input",
    name: "Input",
    isNumber: true,
    cell: ({ inputTokens }) => count(inputTokens),
    text: (row) => String(row.inputTokens ?? ""),
  },
  {
    id: "cached",
    name: "Cached input",
    isNumber: true,
    isHidden: true,
    cell: ({ cachedTokens }) => count(cachedTokens),
    text: (row) => String(row.cachedTokens ?? ""),
  },
  {
    id: "output",
    name: "Output",
    isNumber: true,
    cell: ({ outputTokens }) => count(outputTokens),
    text: (row) => String(row.outputTokens ?? ""),
  },
  {
    id: "firstByte",
    name: "First token",
    isNumber: true,
    cell: ({ timing }) => duration(timing.firstByteMs),
    text: (row) => String(row.timing.firstByteMs ?? ""),
  },
  {
    id: "duration",
    name: "Total time",
    isNumber: true,
    cell: ({ timing }) => duration(timing.durationMs),
    text: (row) => String(row.timing.durationMs ?? ""),
  },
  {
    id: "cost",
    name: `Cost, ${symbol}`,
    sort: "COST",
    isNumber: true,
    cell: ({ cost }) => cost && <Amount neuron={cost.total} isCell />,
    text: (row) => (row.cost ? toPlainTokens(row.cost.total) : ""),
  },
  {
    id: "provider",
    name: "Provider",
    isHidden: true,
    cell: ({ providerAddress }) => <Hash of={providerAddress} />,
    text: (row) => row.providerAddress,
  },
  {
    id: "evidence",
    name: "Evidence",
    isHidden: true,
    cell: ({ evidence }) =>
      evidence ? <StateBadge state={evidence.verdict} /> : <span className="quiet">–</span>,
    text: (row) => row.evidence?.verdict ?? "",
  },
  {
    id: "tags",
    name: "Tags",
    isHidden: true,
    cell: ({ tags }) => <span className="tags-cell">{textOf(tags)}</span>,
    text: ({ tags }) => textOf(tags),
  },
];

function textOf(tags: RequestRow["tags"]): string {
  return tags.map(({ name, value }) => `${name}=${value}`).join(", ");
}
