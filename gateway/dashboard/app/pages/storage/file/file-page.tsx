import { useParams } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useQuery } from "urql";
import { bytes } from "../../../data/amounts.ts";
import { graphql } from "../../../data/query/graph.ts";
import { useKept } from "../../../data/query/use-kept.ts";
import { usePolling } from "../../../data/query/use-polling.ts";
import { Page, Section, Stat, Stats } from "../../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../../parts/page/states.tsx";
import type { Column } from "../../../parts/table/column.ts";
import { DataTable } from "../../../parts/table/data-table.tsx";
import { Copyable } from "../../../parts/value/copyable.tsx";
import { Hash } from "../../../parts/value/hash.tsx";
import { StateBadge } from "../../../parts/value/state-badge.tsx";
import { Time } from "../../../parts/value/time.tsx";
import { hash32Fault } from "../find-form.tsx";
import { Folder } from "./folder.tsx";
import { VerifiedDownload } from "./verified-download.tsx";
import "../storage.css";

const FILE = graphql(`
  query File($root: Hash32!) {
    file(root: $root) {
      root sizeBytes status segmentCount uploadedSegmentCount
      submissions(first: 5) { nodes { txSeq blockNumber seenAt sender { address } } }
    }
  }
`);

type File = NonNullable<ResultOf<typeof FILE>["file"]>;
type Submission = NonNullable<File["submissions"]>["nodes"][number];

/** How often a file is read again until all of it is stored. */
const EVERY_MS = 5_000;

/** One file: its bytes, its folder if it is one, and its submissions. Until all of it is stored, it is read again. */
export function FilePage() {
  const { root } = useParams({ from: "/storage/$root" });
  return <OneFile key={root} root={root} />;
}

function OneFile({ root }: { readonly root: string }) {
  const fault = hash32Fault(root, "A root");
  const [read, query] = useQuery({
    query: FILE,
    variables: { root },
    pause: fault !== undefined,
  });
  const { error, fetching } = read;
  const data = useKept(root, { data: read.data, error, fetching });
  const refetch = () => query({ requestPolicy: "network-only" });
  usePolling(refetch, data?.file && data.file.status !== "FINALIZED" ? EVERY_MS : null);
  if (fault !== undefined)
    return (
      <Page title="File">
        <EmptyState title="This is not the root of a file.">
          <p>{fault}</p>
        </EmptyState>
      </Page>
    );
  return (
    <Page title="File" about={<Copyable text={root} label="Root" />}>
      <Outcome
        value={data && (data.file ?? null)}
        error={error}
        fetching={fetching}
        onRetry={refetch}
        empty={
          <EmptyState title="No file with this root exists on the chain.">
            <p>It may not be submitted yet, or a digit of the root may be wrong.</p>
          </EmptyState>
        }
      >
        {(file) => <Content key={file.root} of={file} />}
      </Outcome>
    </Page>
  );
}

function Content({ of: file }: { of: File }) {
  const { root, sizeBytes, status, segmentCount, uploadedSegmentCount, submissions } = file;
  const isStored = status === "FINALIZED";
  const stored = { root: root as `0x${string}`, sizeBytes: Number(sizeBytes) };
  return (
    <>
      <Stats>
        <Stat label="State">{status ? <StateBadge state={status} /> : "unknown"}</Stat>
        <Stat label="Size" hint={`${Number(sizeBytes).toLocaleString("en")} bytes`}>
          {bytes(sizeBytes)}
        </Stat>
        <Stat label="Segments stored" hint="of 256 KiB each">
          {uploadedSegmentCount ?? "–"} of {segmentCount ?? "–"}
        </Stat>
        <Stat label="First submitted" hint={`number ${submissions?.nodes.at(-1)?.txSeq ?? "–"}`}>
          <Time at={submissions?.nodes.at(-1)?.seenAt ?? null} />
        </Stat>
      </Stats>
      <Section
        title="Verified download"
        about="Each segment is fetched with its merkle proof and hashed in this browser. Nothing is saved unless every one matches the root."
      >
        {isStored ? (
          <VerifiedDownload receipt={{ parts: [stored] }} name={`${root.slice(0, 14)}.bin`} />
        ) : (
          <EmptyState title="This file cannot be downloaded yet.">
            <p>
              {uploadedSegmentCount ?? 0} of its {segmentCount ?? "–"} segments are stored. Upload the same
              file again on the page Storage: only the missing ones are sent.
            </p>
          </EmptyState>
        )}
      </Section>
      {isStored && <Folder of={stored} />}
      <Section title="Submissions" isFlush>
        <DataTable
          label="Submissions"
          columns={SUBMISSIONS}
          rows={submissions?.nodes ?? []}
          keyOf={({ txSeq }) => String(txSeq)}
          empty="No submission is known."
        />
      </Section>
    </>
  );
}

const SUBMISSIONS: readonly Column<Submission>[] = [
  { id: "number", name: "Number", isNumber: true, cell: ({ txSeq }) => txSeq },
  { id: "seen", name: "Seen", cell: ({ seenAt }) => <Time at={seenAt} /> },
  { id: "block", name: "Block", isNumber: true, cell: ({ blockNumber }) => blockNumber },
  { id: "by", name: "By", cell: ({ sender }) => <Hash of={sender.address} withCopy /> },
];
