import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useState } from "react";
import { useQuery } from "urql";
import { bytes } from "../../data/amounts.ts";
import { graphql } from "../../data/graph.ts";
import type { Column } from "../../parts/column.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { Hash } from "../../parts/hash.tsx";
import { Page, Pair, Pairs, Section } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { EmptyState, Outcome } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

const FILE = graphql(`
  query File($root: Hash32!, $path: String!) {
    file(root: $root) {
      root sizeBytes status url segmentCount uploadedSegmentCount
      submissions(first: 5) { nodes { txSeq blockNumber seenAt sender { address } } }
      entries(path: $path, first: 100) { nodes { name path kind sizeBytes link url } }
    }
  }
`);

type File = NonNullable<ResultOf<typeof FILE>["file"]>;
type Entry = NonNullable<File["entries"]>["nodes"][number];
type Submission = NonNullable<File["submissions"]>["nodes"][number];

/** One file: its bytes, its folder if it is one, and its submissions. */
export function FilePage() {
  const { root } = useParams({ from: "/storage/$root" });
  const [path, setPath] = useState("/");
  const [{ data, error, fetching }] = useQuery({ query: FILE, variables: { root, path } });
  return (
    <Page title="File" about={root}>
      <Outcome
        value={data && (data.file ?? null)}
        error={error}
        fetching={fetching}
        empty={<EmptyState title="No file with this root exists on the chain." />}
      >
        {(file) => (
          <>
            <Bytes of={file} />
            {file.entries && <Folder path={path} entries={file.entries.nodes} onOpen={setPath} />}
            <Section title="Submissions" isFlush>
              <DataTable
                label="Submissions"
                columns={SUBMISSIONS}
                rows={file.submissions?.nodes ?? []}
                keyOf={({ txSeq }) => String(txSeq)}
                empty="No submission is known."
              />
            </Section>
          </>
        )}
      </Outcome>
    </Page>
  );
}

function Bytes({ of: file }: { of: File }) {
  return (
    <Section
      title="Bytes"
      actions={
        file.status === "FINALIZED" && (
          <a href={`/file?root=${file.root}`} download>
            Download, verified
          </a>
        )
      }
    >
      <Pairs>
        <Pair name="State">{file.status ? <StateBadge state={file.status} /> : "unknown"}</Pair>
        <Pair name="Size">{bytes(file.sizeBytes)}</Pair>
        <Pair name="Segments uploaded">
          {file.uploadedSegmentCount ?? "–"} of {file.segmentCount ?? "–"}
        </Pair>
      </Pairs>
    </Section>
  );
}

function Folder({
  path,
  entries,
  onOpen,
}: {
  path: string;
  entries: readonly Entry[];
  onOpen(path: string): void;
}) {
  const columns: readonly Column<Entry>[] = [
    { id: "name", name: "Name", cell: (entry) => <EntryName of={entry} onOpen={onOpen} /> },
    { id: "kind", name: "Kind", cell: ({ kind }) => kind.toLowerCase() },
    { id: "size", name: "Size", isNumber: true, cell: ({ sizeBytes }) => sizeBytes && bytes(sizeBytes) },
  ];
  const up = path.replace(/\/[^/]+\/?$/, "") || "/";
  return (
    <Section
      title={`Folder ${path}`}
      actions={
        path !== "/" && (
          <Button size="xs" variant="default" onClick={() => onOpen(up)}>
            Up
          </Button>
        )
      }
      isFlush
    >
      <DataTable
        label="Entries"
        columns={columns}
        rows={entries}
        keyOf={(entry) => entry.path}
        empty="The folder is empty."
      />
    </Section>
  );
}

function EntryName({ of: entry, onOpen }: { of: Entry; onOpen(path: string): void }) {
  return (
    <>
      {entry.kind === "DIRECTORY" ? (
        <Button size="compact-sm" variant="subtle" onClick={() => onOpen(entry.path)}>
          {entry.name}
        </Button>
      ) : entry.url ? (
        <a href={new URL(entry.url, location.href).pathname}>{entry.name}</a>
      ) : (
        entry.name
      )}
      {entry.link && <span className="quiet"> to {entry.link}</span>}
    </>
  );
}

const SUBMISSIONS: readonly Column<Submission>[] = [
  { id: "number", name: "Number", isNumber: true, cell: ({ txSeq }) => txSeq },
  { id: "seen", name: "Seen", cell: ({ seenAt }) => <Time at={seenAt} /> },
  { id: "block", name: "Block", isNumber: true, cell: ({ blockNumber }) => blockNumber },
  { id: "by", name: "By", cell: ({ sender }) => <Hash of={sender.address} /> },
];
