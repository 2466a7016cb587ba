import type { ResultOf } from "gql.tada";
import { useState } from "react";
import { useQuery } from "urql";
import { type FileTree, hashFile } from "../../../../packages/client/src/files/file-tree.ts";
import { useLive } from "../../../../packages/client/src/react.ts";
import { bytes } from "../amounts.ts";
import { toBase64 } from "../base64.ts";
import { client, graphql, reasonOf } from "../graph.ts";
import { Link } from "../router.tsx";
import { useNetwork, useSession } from "../session.tsx";
import { Button, Field, Form } from "../ui/controls.tsx";
import { Copyable } from "../ui/copy.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Card, Hash, Outcome, Page, Table, Time } from "../ui/show.tsx";
import { useWallet } from "../ui/use-wallet.tsx";
import type { WalletChain } from "../wallet.ts";
import { KeyValues } from "./key-values.tsx";

const FILES = graphql(`
  query Files($owner: Address, $after: Cursor) {
    files(filter: { owner: $owner }, first: 20, after: $after) {
      nodes { root sizeBytes status segmentCount uploadedSegmentCount firstTxSeq }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const FILE = graphql(`
  query File($root: Hash32!, $path: String!) {
    file(root: $root) {
      root sizeBytes status url segmentCount uploadedSegmentCount
      submissions(first: 5) { nodes { txSeq blockNumber seenAt sender { address } } }
      entries(path: $path, first: 100) { nodes { name path kind sizeBytes link url } }
    }
  }
`);
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
const SEEN_WITHIN_MS = 120_000;
const SEEN_EVERY_MS = 1_000;
const LARGEST_BYTES = 64 * 1_048_576;

/** Files by root, and key-value streams. */
export function StoragePage({ root }: { root: string | undefined }) {
  if (root) return <OneFile root={root} />;
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

type Progress = ResultOf<typeof PROGRESS>["fileProgress"];

function Upload() {
  const { address } = useSession();
  const network = useNetwork();
  const wallet = useWallet();
  const [step, setStep] = useState<string>();
  const [root, setRoot] = useState<string>();
  const [progress, setProgress] = useState<Progress>();
  const send = async (form: FormData) => {
    const file = form.get("file");
    if (!(file instanceof File) || file.size === 0) throw new Error("Choose a file that is not empty.");
    if (file.size > LARGEST_BYTES)
      throw new Error("This page accepts up to 64 MiB. Use the storage SDK for larger files.");
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
    <Card title="Upload">
      <Form label="Upload" send={send}>
        <Field
          label="File"
          name="file"
          type="file"
          required
          hint="The root is written to the chain, which costs a fee, and the bytes are sent to the storage node."
        />
      </Form>
      {step && <p role="status">{step}…</p>}
      {root && (
        <>
          <Copyable text={root} label="Root" />
          <Watch key={root} root={root} onProgress={setProgress} />
          {progress && (
            <p>
              <Badge state={progress.status} /> {progress.uploadedSegmentCount} of {progress.segmentCount}{" "}
              segments. <Link to={`/storage/${root}`}>View file</Link>
            </p>
          )}
        </>
      )}
    </Card>
  );
}

function Watch({ root, onProgress }: { root: string; onProgress(progress: Progress): void }) {
  useLive(PROGRESS, { root }, { onEvent: ({ fileProgress }) => onProgress(fileProgress) });
  return null;
}

async function sendSegments({ root, segments }: FileTree, onStep: (text: string) => void): Promise<void> {
  for (const { index, data, proof } of segments) {
    onStep(`Uploading: ${index + 1} of ${segments.length} segments`);
    const body = JSON.stringify({ root, index, data: toBase64(data), proof });
    for (const deadline = Date.now() + SEEN_WITHIN_MS; ; await pause(SEEN_EVERY_MS)) {
      const { status, message } = await sendSegment(body);
      if (status === 200) break;
      // The gateway has not read the transaction's block yet.
      if (status !== 404 || Date.now() > deadline)
        throw new Error(`Segment ${index} was refused: ${message}`);
      onStep("Waiting for the gateway to see the submission");
    }
  }
}

async function sendSegment(body: string): Promise<{ status: number; message: string }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch("/file/segment", { method: "POST", headers, body });
  const { code, message } = (await response.json()) as { code: number; message: string };
  return { status: response.ok && code !== 0 ? 400 : response.status, message };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function Files() {
  const { address } = useSession();
  const pages = usePages();
  const [isOwn, setIsOwn] = useState(true);
  const [root, setRoot] = useState("");
  const [{ data, error, fetching }, refetch] = useQuery({
    query: FILES,
    variables: { owner: isOwn ? (address ?? null) : null, after: pages.after },
  });
  return (
    <Card
      title="Files"
      aside={<Button onClick={() => refetch({ requestPolicy: "network-only" })}>Refresh</Button>}
    >
      <label className="check">
        <input type="checkbox" checked={isOwn} onChange={() => setIsOwn(!isOwn)} />
        Only files submitted by this account
      </label>
      <Field
        label="Open by root"
        value={root}
        placeholder="0x…"
        onChange={(event) => setRoot(event.currentTarget.value.trim())}
      />
      {/^0x[0-9a-fA-F]{64}$/.test(root) && <Link to={`/storage/${root}`}>View file</Link>}
      <Outcome rows={data?.files?.nodes} error={error} fetching={fetching} empty="No files yet.">
        {(rows) => (
          <Table label="Files" heads={["Root", "Size", "State", "Segments"]}>
            {rows.map((file) => (
              <tr key={file.root}>
                <td>
                  <Link to={`/storage/${file.root}`}>
                    <Hash of={file.root} />
                  </Link>
                </td>
                <td className="number">{bytes(file.sizeBytes)}</td>
                <td>{file.status && <Badge state={file.status} />}</td>
                <td className="number">
                  {file.uploadedSegmentCount ?? "–"} of {file.segmentCount ?? "–"}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Outcome>
      {pages.pager(data?.files?.pageInfo)}
    </Card>
  );
}

function OneFile({ root }: { root: string }) {
  const [path, setPath] = useState("/");
  const [{ data, error, fetching }] = useQuery({ query: FILE, variables: { root, path } });
  return (
    <Page title="File" about={root}>
      <Outcome
        rows={data ? (data.file ? [data.file] : []) : undefined}
        error={data?.file ? undefined : error}
        fetching={fetching}
        empty="No file with this root exists on the chain."
      >
        {([file]) =>
          file && (
            <>
              <Card
                title="Bytes"
                aside={
                  file.status === "FINALIZED" && (
                    <a href={`/file?root=${file.root}`} download>
                      Download, verified
                    </a>
                  )
                }
              >
                <dl className="pairs">
                  <dt>State</dt>
                  <dd>{file.status ? <Badge state={file.status} /> : "unknown"}</dd>
                  <dt>Size</dt>
                  <dd>{bytes(file.sizeBytes)}</dd>
                  <dt>Segments uploaded</dt>
                  <dd>
                    {file.uploadedSegmentCount ?? "–"} of {file.segmentCount ?? "–"}
                  </dd>
                </dl>
              </Card>
              {file.entries && (
                <Card title={`Folder ${path}`}>
                  {path !== "/" && (
                    <Button onClick={() => setPath(path.replace(/\/[^/]+\/?$/, "") || "/")}>Up</Button>
                  )}
                  <Table label="Entries" heads={["Name", "Kind", "Size"]}>
                    {file.entries.nodes.map((entry) => (
                      <tr key={entry.path}>
                        <td>
                          {entry.kind === "DIRECTORY" ? (
                            <Button onClick={() => setPath(entry.path)}>{entry.name}</Button>
                          ) : entry.url ? (
                            <a href={new URL(entry.url, location.href).pathname}>{entry.name}</a>
                          ) : (
                            entry.name
                          )}
                          {entry.link && <span className="quiet"> to {entry.link}</span>}
                        </td>
                        <td>{entry.kind.toLowerCase()}</td>
                        <td className="number">{entry.sizeBytes && bytes(entry.sizeBytes)}</td>
                      </tr>
                    ))}
                  </Table>
                </Card>
              )}
              <Card title="Submissions">
                <Table label="Submissions" heads={["Number", "Seen", "Block", "By"]}>
                  {file.submissions?.nodes.map((submission) => (
                    <tr key={submission.txSeq}>
                      <td className="number">{submission.txSeq}</td>
                      <td>
                        <Time at={submission.seenAt} />
                      </td>
                      <td className="number">{submission.blockNumber}</td>
                      <td>
                        <Hash of={submission.sender.address} />
                      </td>
                    </tr>
                  ))}
                </Table>
              </Card>
            </>
          )
        }
      </Outcome>
    </Page>
  );
}
