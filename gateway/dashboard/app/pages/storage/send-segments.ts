import type { FileTree } from "../../../../../packages/client/src/files/file-tree.ts";
import { toBase64 } from "../../data/base64.ts";

const SEEN_WITHIN_MS = 120_000;
const SEEN_EVERY_MS = 1_000;

/** Uploads the segments of a file whose root is on the chain, and reports each step. Throws when one is refused. */
export async function sendSegments(
  { root, segments }: FileTree,
  onStep: (text: string) => void,
): Promise<void> {
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
