import { Button, NativeSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import Plus from "lucide-react/icons/plus";
import { useMemo, useState } from "react";
import { useQuery } from "urql";
import { toPlainTokens } from "../../data/amounts.ts";
import { useFilters, useList } from "../../data/list/use-list.ts";
import { isAnswerTo } from "../../data/query/answer-to.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { useRefresh } from "../../data/query/use-refresh.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { usePeriod } from "../../data/use-period.ts";
import { CodeSnippet } from "../../parts/code/code-snippet.tsx";
import { Page, Section } from "../../parts/page/page.tsx";
import { EmptyState, Note } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { ListTable } from "../../parts/table/list-table.tsx";
import { TypedFilter } from "../../parts/table/typed-filter.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { Live } from "../../parts/value/state-badge.tsx";
import { budgetColumns } from "./budget-columns.tsx";
import { BudgetDialogs, type OpenBudget } from "./budget-dialogs.tsx";
import { type SpendRow, shareText, spendRows, textOf } from "./spend-rows.ts";
import { BUDGETS, SPEND, SPEND_MOVED } from "./tag-queries.ts";
import { tagSnippets } from "./tag-snippets.ts";
import { useLimitedTags } from "./use-limited-tags.ts";

type Search = { range?: "day" | "week" | "all" | undefined; name?: string | undefined };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RANGES = { day: "last 24 hours", week: "last 7 days", "": "last 30 days", all: "all time" } as const;
const LENGTHS = { day: DAY_MS, week: 7 * DAY_MS, "": 30 * DAY_MS, all: undefined } as const;

/** What the tags of requests spend, and their budgets. */
export function TagsPage() {
  const [{ range, name }, filter] = useFilters<Search>();
  const hour = usePeriod(HOUR_MS);
  const length = LENGTHS[range ?? ""];
  // Whole hours, as on the overview: the present one is the last of them.
  const from = length === undefined ? null : new Date(hour + HOUR_MS - length).toISOString();
  const variables = { from, name: name ?? null };
  const [spend, query] = useQuery({ query: SPEND, variables });
  const budgets = useList({
    query: BUDGETS,
    pick: ({ viewer }) => viewer?.account?.tagBudgets,
    isLocal: true,
    isOldestFirst: true,
  });
  const limited = useLimitedTags(budgets.rows);
  const [open, setOpen] = useState<OpenBudget>();
  const refreshSpend = () => query({ requestPolicy: "network-only" });
  const refresh = useRefresh(() => {
    refreshSpend();
    budgets.refetch();
  });
  const refetchBudgets = () => {
    budgets.refetch();
    limited.load();
  };
  const liveness = useFollowed(SPEND_MOVED, {}, { onEvent: refresh, onGap: refresh, keep: 1 });
  const { symbol } = useNetwork();
  const usage = isAnswerTo(spend, variables) ? spend.data?.viewer?.account?.usage : undefined;
  const total = usage?.stats ?? undefined;
  const spends = useMemo(() => usage?.tags && spendRows(usage.tags, total, name), [usage, total, name]);
  const columns = useMemo(() => budgetColumns(setOpen, symbol), [symbol]);
  const spendColumns = useMemo(
    () => spendColumnsOf(setOpen, { limited: limited.tags, total: total?.cost, symbol }),
    [limited.tags, total, symbol],
  );
  return (
    <Page
      title="Tags and budgets"
      about="Label requests by team, customer or environment, see what each costs, and cap it with a budget."
      actions={
        <>
          <Live liveness={liveness} />
          <Button leftSection={<Plus size={16} />} onClick={() => setOpen({ kind: "create" })}>
            Create a budget
          </Button>
        </>
      }
    >
      <Section
        title="Budgets"
        about="Requests that could exceed a budget are refused until it resets or is raised. A webhook can tell you at 80% and at 100%."
        actions={<Link to="/webhooks">Webhooks</Link>}
        isFlush
      >
        <ListTable
          label="Budgets"
          list={budgets}
          columns={columns}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No budgets yet.">
              <p>Without a budget a tag spends as much as the keys and the balance allow.</p>
            </EmptyState>
          }
        />
      </Section>
      <Section
        title="Spend by tag"
        about="The most expensive first, at most 100. A request with several tags counts under each, so rows can exceed the total."
        isFlush
      >
        <DataTable
          label="Spend by tag"
          rows={spends ?? undefined}
          error={spend.error}
          onRetry={refreshSpend}
          columns={spendColumns}
          keyOf={({ key }) => key}
          csv="tags.csv"
          filters={
            <>
              <NativeSelect
                size="xs"
                label="Time"
                value={range ?? ""}
                data={Object.entries(RANGES).map(([value, label]) => ({ value, label }))}
                onChange={({ currentTarget }) =>
                  filter({ range: (currentTarget.value || undefined) as Search["range"] })
                }
              />
              <TypedFilter
                label="Only tags named"
                placeholder="team"
                w={170}
                value={name}
                maxLength={64}
                onFilter={(next) => filter({ name: next })}
              />
            </>
          }
          empty={
            <EmptyState title={name ? `No spend under tags named ${name}.` : "No tags yet."}>
              <p>Send a tag with a request, as below, and its cost appears here.</p>
            </EmptyState>
          }
        />
      </Section>
      <Section title="Send tags" about="Up to ten with a request, in a header or as metadata of a chat.">
        <CodeSnippet label="A request with tags" snippets={tagSnippets(location.origin)} />
        <Note>Tags are stored with the request and listed with it: put no secrets in them.</Note>
      </Section>
      <BudgetDialogs open={open} onClose={() => setOpen(undefined)} onDone={refetchBudgets} />
    </Page>
  );
}

function spendColumnsOf(
  onOpen: (open: OpenBudget) => void,
  {
    limited,
    total,
    symbol,
  }: {
    /** The tags that have a budget; undefined while they are loaded. */
    readonly limited: ReadonlySet<string> | undefined;
    readonly total: string | undefined;
    readonly symbol: string;
  },
): readonly Column<SpendRow>[] {
  const number = (text: string) => BigInt(text).toLocaleString("en");
  return [
    {
      id: "name",
      name: "Name",
      cell: ({ tag, name }) =>
        tag ? (
          <Link to="/requests" search={{ tag: textOf(tag) }} className="user-text">
            {name}
          </Link>
        ) : (
          <strong className="user-text">{name}</strong>
        ),
      text: ({ name }) => name,
    },
    {
      id: "value",
      name: "Value",
      cell: ({ tag }) => tag && <code className="user-text">{tag.value}</code>,
      text: ({ tag }) => tag?.value ?? "",
    },
    {
      id: "requests",
      name: "Requests",
      isNumber: true,
      cell: ({ stats }) => number(stats.requestCount),
      text: ({ stats }) => stats.requestCount,
    },
    {
      id: "input",
      name: "Input tokens",
      isNumber: true,
      cell: ({ stats }) => number(stats.inputTokens),
      text: ({ stats }) => stats.inputTokens,
    },
    {
      id: "output",
      name: "Output tokens",
      isNumber: true,
      cell: ({ stats }) => number(stats.outputTokens),
      text: ({ stats }) => stats.outputTokens,
    },
    {
      id: "share",
      name: "Share",
      cell: ({ stats }) => <Share cost={BigInt(stats.cost)} total={BigInt(total ?? "0")} />,
    },
    {
      id: "cost",
      name: `Spent, ${symbol}`,
      isNumber: true,
      cell: ({ stats }) => <Amount neuron={stats.cost} isCell />,
      text: ({ stats }) => toPlainTokens(stats.cost),
    },
    {
      id: "actions",
      name: "",
      cell: ({ tag }) =>
        tag === undefined || !limited ? null : limited.has(textOf(tag)) ? (
          <span className="quiet">has a budget</span>
        ) : (
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => onOpen({ kind: "create", tag })}
            aria-label={`Set a budget for ${textOf(tag)}`}
          >
            Set a budget
          </Button>
        ),
    },
  ];
}

/** The share of what all requests cost, as a bar and in percent. */
function Share({ cost, total }: { cost: bigint; total: bigint }) {
  if (total <= 0n) return null;
  const width = Number(((cost < total ? cost : total) * 96n) / total);
  return (
    <span className="share">
      <svg width="96" height="8" aria-hidden="true">
        <rect width={width} height="8" rx="3" />
      </svg>{" "}
      <span className="figure">{shareText(cost, total)}</span>
    </span>
  );
}
