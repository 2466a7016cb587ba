import { useQuery } from "urql";
import { bytes } from "../../../data/amounts.ts";
import { graphql } from "../../../data/query/graph.ts";
import { Hash } from "../../../parts/value/hash.tsx";
import { readUnfinished, type Unfinished } from "./unfinished.ts";
import type { Upload } from "./upload-queue.ts";

const STORED = graphql(`
  query StoredSegments($root: Hash32!) { file(root: $root) { status segmentCount uploadedSegmentCount } }
`);

/** Uploads of this browser that did not end: choosing the same file goes on where it stopped. */
export function UnfinishedUploads({ of: address, shown }: { of: string; shown: readonly Upload[] }) {
  const roots = new Set(shown.map(({ root }) => root));
  const unfinished = readUnfinished(address).filter(({ root }) => !roots.has(root));
  if (unfinished.length === 0) return null;
  return (
    <section className="unfinished" aria-label="Unfinished uploads">
      <p>
        Unfinished: choose the same file again to go on where it stopped. What is paid is not paid again, and
        what is stored is not sent again.
      </p>
      <ul>
        {unfinished.map((upload) => (
          <UnfinishedRow key={upload.root} of={upload} />
        ))}
      </ul>
    </section>
  );
}

function UnfinishedRow({ of: { root, name, sizeBytes } }: { of: Unfinished }) {
  const [{ data }] = useQuery({ query: STORED, variables: { root } });
  const { uploadedSegmentCount: stored, segmentCount: all, status } = data?.file ?? {};
  return (
    <li>
      <span className="upload-name">{name}</span>{" "}
      <span className="quiet">
        {bytes(String(sizeBytes))}, root <Hash of={root} />
        {data && !data.file && ", not on the chain yet"}
        {status === "FINALIZED" ? ", stored" : all != null && `, ${stored ?? 0} of ${all} segments stored`}
      </span>
    </li>
  );
}
