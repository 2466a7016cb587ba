import { useState } from "react";
import { Button } from "./controls.tsx";

type PageInfo = { readonly hasNextPage: boolean; readonly endCursor: string | null };

/** Paginates a connection: `after` goes into the query, `Pager` renders the buttons. */
export function usePages() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const pager = (info: PageInfo | undefined) =>
    cursors.length === 0 && !info?.hasNextPage ? null : (
      <nav className="pager" aria-label="Pages">
        <Button disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
          ← Newer
        </Button>
        <span className="quiet">Page {cursors.length + 1}</span>
        <Button
          disabled={!info?.hasNextPage || !info.endCursor}
          onClick={() => info?.endCursor && setCursors([...cursors, info.endCursor])}
        >
          Older →
        </Button>
      </nav>
    );
  return { after: cursors.at(-1) ?? null, isFirst: cursors.length === 0, pager };
}
