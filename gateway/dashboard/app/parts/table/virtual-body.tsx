import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import { ROLE } from "./table-roles.ts";

/** The height of a row until it is measured. Called for every row of the list whenever one is measured. */
const rowPx = () => 38;
/** The height of a card, on a narrow screen. */
const cardPx = () => 76;
const NARROW = "(max-width: 40em)";
const OVERSCAN = 12;
/** Rows before the end at which the list is read on, so that scrolling does not wait. */
const NEAR_END = 30;

/** The body of a table that scrolls by itself: only the rows in view are in the document. */
export function VirtualBody({
  count,
  keyAt,
  rowAt,
  onEnd,
}: {
  count: number;
  keyAt(n: number): string | number;
  rowAt(n: number, measure: (element: HTMLTableRowElement | null) => void): ReactNode;
  onEnd?(): void;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const isNarrow = useMediaQuery(NARROW, undefined, { getInitialValueInEffect: false });
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => body.current?.closest(".scroll") ?? null,
    estimateSize: isNarrow ? cardPx : rowPx,
    getItemKey: keyAt,
    overscan: OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const isNearEnd = (items.at(-1)?.index ?? 0) >= count - NEAR_END;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each length of the list, not for each render.
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, count]);
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <tbody ref={body} role={ROLE.rowgroup}>
      {above > 0 && <Gap height={above} />}
      {items.map(({ index }) => rowAt(index, virtual.measureElement))}
      {below > 0 && <Gap height={below} />}
    </tbody>
  );
}

/** The rows that are not in view. */
function Gap({ height }: { height: number }) {
  return (
    <tr className="gap">
      <td style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}
