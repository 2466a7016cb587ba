import { Button, Checkbox, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { bytes } from "../../data/amounts.ts";
import { graphql } from "../../data/graph.ts";
import { useSession } from "../../data/session.tsx";
import { useList } from "../../data/use-list.ts";
import type { Column } from "../../parts/column.ts";
import { Hash } from "../../parts/hash.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { KeyValues } from "./key-values.tsx";
import { Upload } from "./upload.tsx";

const FILES = graphql(`
  query Files($owner: Address, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    files(filter: { owner: $owner }, first: $first, last: $last, after: $after, before: $before) {
      nodes { root sizeBytes status segmentCount uploadedSegmentCount firstTxSeq }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

/** Files by root, and key-value streams. */
export function StoragePage() {
  return (
    <Page
      title="Storage"
      about="Files are found by the root of their merkle tree, and every byte is checked against it."
    >
      <Upload />
      <Files />
      <KeyValues />
    </Page>
  );
}

type File = {
  readonly root: string;
  readonly sizeBytes: string;
  readonly status: string | null;
  readonly segmentCount: string | number | null;
  readonly uploadedSegmentCount: string | number | null;
};

const COLUMNS: readonly Column<File>[] = [
  { id: "root", name: "Root", cell: ({ root }) => <Hash of={root} /> },
  { id: "size", name: "Size", isNumber: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { id: "state", name: "State", cell: ({ status }) => status && <StateBadge state={status} /> },
  {
    id: "segments",
    name: "Segments",
    isNumber: true,
    cell: ({ uploadedSegmentCount: sent, segmentCount: all }) => `${sent ?? "–"} of ${all ?? "–"}`,
  },
];

function Files() {
  const { address } = useSession();
  const [isOwn, setIsOwn] = useState(true);
  const [root, setRoot] = useState("");
  const list = useList({
    query: FILES,
    variables: { owner: isOwn ? (address ?? null) : null },
    pick: ({ files }) => files,
  });
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
        <TextInput
          label="Open by root"
          w={280}
          value={root}
          placeholder="0x…"
          onChange={({ currentTarget }) => setRoot(currentTarget.value.trim())}
        />
        {/^0x[0-9a-fA-F]{64}$/.test(root) && (
          <Link to="/storage/$root" params={{ root }}>
            View file
          </Link>
        )}
        <Checkbox
          label="Only files submitted by this account"
          checked={isOwn}
          onChange={() => setIsOwn(!isOwn)}
        />
      </div>
      <ListTable
        label="Files"
        list={list}
        columns={COLUMNS}
        keyOf={({ root: id }) => id}
        link={({ root: id }) => ({ to: "/storage/$root", params: { root: id } })}
        empty="No files yet."
      />
    </Section>
  );
}
