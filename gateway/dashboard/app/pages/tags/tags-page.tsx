import { Button, Group, NativeSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import Plus from "lucide-react/icons/plus";
import { useMemo, useState } from "react";
import { useQuery } from "urql";
import { useLive } from "../../../../../packages/client/src/react.ts";
import { useFilters, useList } from "../../data/use-list.ts";
import { useRefresh } from "../../data/use-refresh.ts";
import { Amount } from "../../parts/amount.tsx";
import { CodeSnippet } from "../../parts/code-snippet.tsx";
import type { Column } from "../../parts/column.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { percentOf, SpendBar } from "../../parts/spend-bar.tsx";
import { Live, Pill } from "../../parts/state-badge.tsx";
import { EmptyState, Note } from "../../parts/states.tsx";
import { TypedFilter } from "../../parts/typed-filter.tsx";
import { BudgetDialogs, type OpenBudget, PERIODS } from "./budget-dialogs.tsx";
import { BUDGETS, type Budget, SPEND, SPEND_MOVED, type TagSpend, textOf } from "./tag-queries.ts";
import { tagSnippets } from "./tag-snippets.ts";

type Search = { range?: "day" | "week" | "all" | undefined; name?: string | undefined };

const DAY_MS = 86_400_000;
const RANGES = { day: "last 24 hours", week: "last 7 days", "": "last 30 days", all: "all time" } as const;
const LENGTHS = { day: DAY_MS, week: 7 * DAY_MS, "": 30 * DAY_MS, all: undefined } as const;

/** What the tags of requests spend, and their budgets. */
export function TagsPage() {
  const [{ range, name }, filter] = useFilters<Search>();
  const [openedAt] = useState(Date.now);
  const length = LENGTHS[range ?? ""];
  const from = length === undefined ? null : new Date(openedAt - length).toISOString();
  const [spend, query] = useQuery({ query: SPEND, variables: { from, name: name ?? null } });
  const budgets = useList({
    query: BUDGETS,
    pick: ({ viewer }) => viewer?.account?.tagBudgets,
    isLocal: true,
  });
  const [open, setOpen] = useState<OpenBudget>();
  const refreshSpend = () => query({ requestPolicy: "network-only" });
  const refresh = useRefresh(() => {
    refreshSpend();
    budgets.refetch();
  });
  const liveness = useLive(SPEND_MOVED, {}, { onEvent: refresh, keep: 1 });
  const spends = spend.data?.viewer?.account?.usage?.tags;
  const columns = useMemo(() => budgetColumns(setOpen), []);
  const spendColumns = useMemo(
    () => spendColumnsOf(setOpen, budgets.rows, spends ?? undefined),
    [budgets.rows, spends],
  );
  return (
    <Page
      title="Tags"
      about="A tag says what a request is for: a team, a customer, an environment. Its cost counts under the tag, and a budget limits what the tag may spend, whichever key pays."
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
        about="A webhook can tell you when a budget reaches 80 % and 100 %."
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
        about="The most expensive first, at most 100. A request counts for each of its tags."
        isFlush
      >
        <DataTable
          label="Spend by tag"
          rows={spends ?? undefined}
          error={spend.error}
          onRetry={refreshSpend}
          columns={spendColumns}
          keyOf={({ tag }) => textOf(tag)}
          csv="tags.csv"
          filters={
            <>
              <NativeSelect
                size="xs"
                aria-label="Time"
                value={range ?? ""}
                data={Object.entries(RANGES).map(([value, label]) => ({ value, label }))}
                onChange={({ currentTarget }) =>
                  filter({ range: (currentTarget.value || undefined) as Search["range"] })
                }
              />
              <TypedFilter
                aria-label="Only tags named"
                placeholder="only tags named"
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
      <BudgetDialogs open={open} onClose={() => setOpen(undefined)} onDone={budgets.refetch} />
    </Page>
  );
}

function budgetColumns(onOpen: (open: OpenBudget) => void): readonly Column<Budget>[] {
  return [
    { id: "tag", name: "Tag", cell: ({ tag }) => <code>{textOf(tag)}</code> },
    {
      id: "spent",
      name: "Spent",
      cell: (budget) => (
        <SpendBar
          of={{ used: budget.used, held: budget.held, limit: budget.creditLimit }}
          what={textOf(budget.tag)}
        />
      ),
    },
    { id: "state", name: "State", cell: (budget) => <Reached of={budget} /> },
    { id: "used", name: "Used", isNumber: true, cell: ({ used }) => <Amount neuron={used} /> },
    { id: "held", name: "Held", isNumber: true, cell: ({ held }) => <Amount neuron={held} /> },
    {
      id: "limit",
      name: "Budget",
      isNumber: true,
      cell: ({ creditLimit }) => <Amount neuron={creditLimit} />,
    },
    { id: "period", name: "Starts again", cell: ({ resetPeriod }) => PERIODS[resetPeriod] },
    {
      id: "actions",
      name: "",
      cell: (budget) => (
        <Group gap={6} justify="flex-end" wrap="nowrap">
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => onOpen({ kind: "edit", budget })}
            aria-label={`Edit ${textOf(budget.tag)}`}
          >
            Edit
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            onClick={() => onOpen({ kind: "delete", budget })}
            aria-label={`Delete ${textOf(budget.tag)}`}
          >
            Delete
          </Button>
        </Group>
      ),
    },
  ];
}

function Reached({ of: { used, creditLimit } }: { of: Budget }) {
  const percent = percentOf(used, creditLimit);
  if (percent >= 100) return <Pill tone="bad">used up</Pill>;
  if (percent >= 80) return <Pill tone="busy">80 % used</Pill>;
  return <Pill tone="good">within budget</Pill>;
}

function spendColumnsOf(
  onOpen: (open: OpenBudget) => void,
  budgets: readonly Budget[] | undefined,
  spends: readonly TagSpend[] | undefined,
): readonly Column<TagSpend>[] {
  const limited = new Set(budgets?.map(({ tag }) => textOf(tag)));
  const most = spends?.[0] ? BigInt(spends[0].stats.cost) : 0n;
  const number = (text: string) => BigInt(text).toLocaleString("en");
  return [
    {
      id: "name",
      name: "Name",
      cell: ({ tag }) => (
        <Link to="/requests" search={{ tag: textOf(tag) }}>
          {tag.name}
        </Link>
      ),
      text: ({ tag }) => tag.name,
    },
    { id: "value", name: "Value", cell: ({ tag }) => <code>{tag.value}</code>, text: ({ tag }) => tag.value },
    {
      id: "requests",
      name: "Requests",
      isNumber: true,
      cell: ({ stats }) => number(stats.requestCount),
      text: ({ stats }) => stats.requestCount,
    },
    {
      id: "tokens",
      name: "Tokens in / out",
      isNumber: true,
      cell: ({ stats }) => `${number(stats.inputTokens)} / ${number(stats.outputTokens)}`,
      text: ({ stats }) => `${stats.inputTokens} / ${stats.outputTokens}`,
    },
    {
      id: "share",
      name: "Share",
      cell: ({ stats }) => (
        <span className="share">
          <svg width="96" height="8" aria-hidden="true">
            <rect width={most > 0n ? Number((BigInt(stats.cost) * 96n) / most) : 0} height="8" rx="3" />
          </svg>
        </span>
      ),
    },
    {
      id: "cost",
      name: "Cost",
      isNumber: true,
      cell: ({ stats }) => <Amount neuron={stats.cost} />,
      text: ({ stats }) => stats.cost,
    },
    {
      id: "actions",
      name: "",
      cell: ({ tag }) =>
        limited.has(textOf(tag)) ? (
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
