import { Button, Group } from "@mantine/core";
import { percentOf, SpendBar } from "../../parts/chart/spend-bar.tsx";
import type { Column } from "../../parts/table/column.ts";
import { Amount } from "../../parts/value/amount.tsx";
import { Pill } from "../../parts/value/state-badge.tsx";
import { type OpenBudget, PERIODS } from "./budget-dialogs.tsx";
import { textOf } from "./spend-rows.ts";
import type { Budget } from "./tag-queries.ts";

/** The columns of the list of budgets. */
export function budgetColumns(onOpen: (open: OpenBudget) => void, symbol: string): readonly Column<Budget>[] {
  return [
    { id: "tag", name: "Tag", cell: ({ tag }) => <code className="user-text">{textOf(tag)}</code> },
    {
      id: "share",
      name: "Used",
      cell: (budget) => (
        <SpendBar
          of={{ used: budget.used, held: budget.held, limit: budget.creditLimit }}
          what={textOf(budget.tag)}
        />
      ),
    },
    { id: "state", name: "State", cell: (budget) => <Reached of={budget} /> },
    {
      id: "used",
      name: `Spent, ${symbol}`,
      isNumber: true,
      cell: ({ used }) => <Amount neuron={used} isCell />,
    },
    {
      id: "held",
      name: `Held, ${symbol}`,
      isNumber: true,
      cell: ({ held }) => <Amount neuron={held} isCell />,
    },
    {
      id: "limit",
      name: `Budget, ${symbol}`,
      isNumber: true,
      cell: ({ creditLimit }) => <Amount neuron={creditLimit} places={2} isCell />,
    },
    { id: "period", name: "Resets", cell: ({ resetPeriod }) => PERIODS[resetPeriod] },
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
  if (percent >= 80) return <Pill tone="busy">80% used</Pill>;
  return <Pill tone="good">within budget</Pill>;
}
