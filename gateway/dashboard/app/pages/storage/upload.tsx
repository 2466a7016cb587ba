import { Link } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import { useState } from "react";
import * as z from "zod";
import { hashFile } from "../../../../../packages/client/src/files/file-tree.ts";
import { useLive } from "../../../../../packages/client/src/react.ts";
import { client, graphql, reasonOf } from "../../data/graph.ts";
import { useNetwork, useSession } from "../../data/session.tsx";
import { useWallet } from "../../data/use-wallet.ts";
import type { WalletChain } from "../../data/wallet-requests.ts";
import { Copyable } from "../../parts/copyable.tsx";
import { FileField } from "../../parts/fields.tsx";
import { GraphForm } from "../../parts/form.tsx";
import { Section } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { sendSegments } from "./send-segments.ts";

const PREPARE = graphql(`
  query PrepareUpload($input: PrepareUploadInput!) {
    prepareUpload(input: $input) { root alreadyFinalized transaction { to data value } }
  }
`);
const PROGRESS = graphql(`
  subscription FileProgress($root: Hash32!, $after: Cursor) {
    fileProgress(root: $root, after: $after) { cursor status segmentCount uploadedSegmentCount }
  }
`);
const LARGEST_BYTES = 64 * 1_048_576;

const schema = z.object({
  file: z
    .file("Choose a file that is not empty.")
    .min(1, "Choose a file that is not empty.")
    .max(LARGEST_BYTES, "This page accepts up to 64 MiB. Use the storage SDK for larger files."),
});

type Progress = ResultOf<typeof PROGRESS>["fileProgress"];

/** Hashes a file, submits its root to the chain, uploads its segments, and watches it until it is final. */
export function Upload() {
  const { address } = useSession();
  const network = useNetwork();
  const wallet = useWallet();
  const [step, setStep] = useState<string>();
  const [root, setRoot] = useState<string>();
  const [progress, setProgress] = useState<Progress>();
  const send = async ({ file }: z.output<typeof schema>) => {
    if (!wallet || !address) throw new Error("No wallet found.");
    setProgress(undefined);
    try {
      const tree = await hashFile(new Uint8Array(await file.arrayBuffer()), (done, of) =>
        setStep(`Hashing: ${done} of ${of} segments`),
      );
      setRoot(tree.root);
      const input = { sizeBytes: String(file.size), nodes: [...tree.nodes], from: address };
      const made = await client.query(PREPARE, { input }, { requestPolicy: "network-only" }).toPromise();
      const upload = made.data?.prepareUpload;
      if (!upload) throw new Error(reasonOf(made.error));
      if (upload.root !== tree.root) throw new Error("The gateway computed a different root than this page.");
      if (upload.transaction) {
        setStep("Submitting the root to the chain");
        await wallet.send({ ...upload.transaction, chain: network.walletParameters as WalletChain });
      }
      if (!upload.alreadyFinalized) await sendSegments(tree, setStep);
    } finally {
      setStep(undefined);
    }
  };
  return (
    <Section title="Upload">
      <GraphForm label="Upload" schema={schema} defaultValues={{}} send={send}>
        <FileField
          label="File"
          name="file"
          required
          hint="The root is written to the chain, which costs a fee, and the bytes are sent to the storage node."
        />
      </GraphForm>
      {step && <p role="status">{step}…</p>}
      {root && (
        <>
          <Copyable text={root} label="Root" />
          <Watch key={root} root={root} onProgress={setProgress} />
          {progress && (
            <p>
              <StateBadge state={progress.status} /> {progress.uploadedSegmentCount} of{" "}
              {progress.segmentCount} segments.{" "}
              <Link to="/storage/$root" params={{ root }}>
                View file
              </Link>
            </p>
          )}
        </>
      )}
    </Section>
  );
}

function Watch({ root, onProgress }: { root: string; onProgress(progress: Progress): void }) {
  useLive(PROGRESS, { root }, { onEvent: ({ fileProgress }) => onProgress(fileProgress) });
  return null;
}
