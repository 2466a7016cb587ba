import type { List } from "../../data/list/use-list.ts";
import { isRefusal, reasonOf } from "../../data/query/graph.ts";
import { useFollowed } from "../../data/query/use-followed.ts";
import { usePolling } from "../../data/query/use-polling.ts";
import { useRefresh } from "../../data/query/use-refresh.ts";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState, Failure, Loading, NoPermission } from "../../parts/page/states.tsx";
import { Pager } from "../../parts/table/list-table.tsx";
import { Live } from "../../parts/value/state-badge.tsx";
import { TimelineEntry } from "./timeline-entry.tsx";
import { type Entry, PUBLISHED, TRANSFERRED } from "./token-queries.ts";

/** Authorizations and changes of data have no subscription. */
const EVERY_MS = 5_000;

/** What happened to a token, newest first and live. What a reorg reverted stays, struck through. */
export function Timeline({
  list,
  token,
}: {
  list: List<Entry>;
  token: { readonly contract: string; readonly tokenId: string };
}) {
  const { refetch, newer } = list;
  const refresh = useRefresh(refetch);
  const follow = { onEvent: refresh, onGap: refresh, keep: 1 };
  const live = useFollowed(TRANSFERRED, token, follow);
  useFollowed(PUBLISHED, token, follow);
  usePolling(refetch, newer === undefined ? EVERY_MS : null);
  return (
    <Section title="Timeline" actions={<Live liveness={live} />}>
      <Entries list={list} contract={token.contract} />
      <Pager list={list} label="Timeline" />
    </Section>
  );
}

function Entries({ list: { rows, error, refetch }, contract }: { list: List<Entry>; contract: string }) {
  if (rows && rows.length > 0)
    return (
      <ol className="token-timeline">
        {rows.map((entry) => (
          <TimelineEntry
            key={`${entry.blockHash} ${entry.logIndex} ${entry.kind}`}
            entry={entry}
            contract={contract}
          />
        ))}
      </ol>
    );
  if (error && isRefusal(error)) return <NoPermission reason={reasonOf(error)} />;
  if (error && !rows) return <Failure reason={reasonOf(error)} onRetry={refetch} />;
  if (!rows) return <Loading rows={6} />;
  return <EmptyState title="Nothing has happened to this token." />;
}
