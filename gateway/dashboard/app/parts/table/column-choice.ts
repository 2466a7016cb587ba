import { useState } from "react";
import type { Column } from "./column.ts";

/** Whether each column is shown, by its id. */
export type Visibility = Readonly<Record<string, boolean>>;

/** Which columns of a table are shown, as chosen by the user and kept in this browser under the table's label. */
export function useColumnChoice<Row>(
  label: string,
  columns: readonly Column<Row>[],
): readonly [Visibility, (id: string, isShown: boolean) => void] {
  const key = `zerograph-columns:${label}`;
  const [chosen, setChosen] = useState<Visibility>(() => readChoice(key));
  const shown = Object.fromEntries(columns.map(({ id, isHidden }) => [id, chosen[id] ?? !isHidden]));
  const choose = (id: string, isShown: boolean) => {
    const next = { ...chosen, [id]: isShown };
    setChosen(next);
    try {
      localStorage.setItem(key, JSON.stringify(next));
    } catch {
      // The browser keeps nothing: the choice holds until the page is left.
    }
  };
  return [shown, choose];
}

function readChoice(key: string): Visibility {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Visibility) : {};
  } catch {
    return {};
  }
}
