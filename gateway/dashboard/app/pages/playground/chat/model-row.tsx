import { ActionIcon, Button, NativeSelect } from "@mantine/core";
import Columns2 from "lucide-react/icons/columns-2";
import X from "lucide-react/icons/x";
import { useRef } from "react";
import { MAX_COLUMNS } from "./conversation.ts";

/** The selected models, one column each. */
export function ModelRow({
  all,
  chosen,
  onChange,
  onRemove,
  isBusy,
}: {
  all: readonly string[];
  chosen: readonly string[];
  onChange(chosen: readonly string[]): void;
  onRemove(column: number): void;
  /** Whether answers are coming: the columns then stay as they are. */
  readonly isBusy: boolean;
}) {
  const row = useRef<HTMLDivElement>(null);
  const remove = (column: number) => {
    // One that stays: the button is gone with its model.
    row.current?.querySelectorAll("select")[Math.max(0, column - 1)]?.focus();
    onRemove(column);
  };
  return (
    <div ref={row} className="model-row">
      {chosen.map((model, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place; the same model may be in two.
        <div key={column} className="model-choice">
          <NativeSelect
            aria-label={chosen.length > 1 ? `Model ${column + 1}` : "Model"}
            data={[...all]}
            value={model}
            onChange={({ currentTarget }) =>
              onChange(chosen.map((other, n) => (n === column ? currentTarget.value : other)))
            }
          />
          {chosen.length > 1 && (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove model ${column + 1}`}
              disabled={isBusy}
              onClick={() => remove(column)}
            >
              <X size={15} />
            </ActionIcon>
          )}
        </div>
      ))}
      {chosen.length < MAX_COLUMNS && (
        <Button
          variant="default"
          disabled={isBusy}
          leftSection={<Columns2 size={15} />}
          onClick={() => onChange([...chosen, all.find((model) => !chosen.includes(model)) ?? all[0] ?? ""])}
        >
          Compare
        </Button>
      )}
    </div>
  );
}
