import { Button, Checkbox } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useSyncExternalStore } from "react";
import { bytes } from "../../data/amounts.ts";
import { useFilters, useList } from "../../data/list/use-list.ts";
import { graphql } from "../../data/query/graph.ts";
import { useSession } from "../../data/session/session.tsx";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { StateBadge } from "../../parts/value/state-badge.tsx";
import { FindForm, hash32Fault } from "./find-form.tsx";
import type { StorageSearch } from "./storage-search.ts";
import { uploadQueue } from "./upload/upload-queue.ts";

const FILES = graphql(`
  query Files($owner: Address, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    files(filter: { owner: $owner }, first: $first, last: $last, after: $after, before: $before) {
      nodes { root sizeBytes status segmentCount uploadedSegmentCount firstTxSeq }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

type File = {
  readonly root: string;
  readonly sizeBytes: string;
  readonly status: string | null;
  readonly segmentCount: string | number | null;
  readonly uploadedSegmentCount: string | number | null;
  readonly firstTxSeq: string;
};

const COLUMNS: readonly Column<File>[] = [
  { id: "root", name: "Root", cell: ({ root }) => <Hash of={root} />, text: ({ root }) => root },
  { id: "size", name: "Size", isNumber: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { id: "state", name: "State", cell: ({ status }) => status && <StateBadge state={status} /> },
  {
    id: "segments",
    name: "Segments stored",
    isNumber: true,
    cell: ({ uploadedSegmentCount: sent, segmentCount: all }) => `${sent ?? "–"} of ${all ?? "–"}`,
  },
  { id: "number", name: "First submission", isNumber: true, cell: ({ firstTxSeq }) => firstTxSeq },
];

/** The files of the account, or of everyone, newest first. */
export function Files() {
  const { address } = useSession();
  const navigate = useNavigate();
  const uploads = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.uploads);
  const [{ all }, filter] = useFilters<StorageSearch>();
  const list = useList({
    query: FILES,
    variables: { owner: all ? null : (address ?? null) },
    pick: ({ files }) => files,
  });
  const { refetch } = list;
  const storedCount = uploads.filter(({ state }) => state === "stored").length;
  useEffect(() => {
    if (storedCount > 0) refetch();
  }, [storedCount, refetch]);
  return (
    <Section
      title="Files"
      actions={
        <Button variant="default" size="xs" onClick={list.refetch}>
          Refresh
        </Button>
      }
      isFlush
    >
      <div className="row-of-controls">
        <FindForm
          label="Open by root"
          button="Open"
          placeholder="0x…"
          faultOf={(root) => hash32Fault(root, "A root")}
          onFind={(root) => void navigate({ to: "/storage/$root", params: { root: root.trim() } })}
        />
        <Checkbox
          label="Only files submitted by this account"
          checked={!all}
          onChange={() => filter({ all: all ? undefined : true })}
        />
      </div>
      <ListTable
        label="Files"
        list={list}
        columns={COLUMNS}
        keyOf={({ root }) => root}
        link={({ root }) => ({ to: "/storage/$root", params: { root } })}
        empty={
          <EmptyState title="No files yet.">
            <p>Choose or drop a file above. It is listed here once its root is on the chain.</p>
          </EmptyState>
        }
      />
    </Section>
  );
}
