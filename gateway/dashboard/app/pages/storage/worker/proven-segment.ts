import type { Hex } from "../../../../../../src/kernel/text/hex.ts";
import type { SegmentProof } from "../../../../../../src/storage/merkle/proof.ts";
import { fetchOnce } from "./again.ts";
import { Passing, SegmentRefused } from "./segment-failure.ts";

/** The head of a part, its proof included, and the boundaries around it. */
const MAX_HEAD_BYTES = 16_384;

/** A segment with its proof, as the gateway sent it: neither is verified. */
type ProvenSegment = { readonly data: Uint8Array<ArrayBuffer>; readonly proof: SegmentProof };

type Wanted = {
  readonly root: string;
  readonly index: number;
  readonly start: number;
  readonly length: number;
};

/**
 * Fetches one segment with its merkle proof: `GET /file` with `withProof` and a range, which is answered as multipart
 * with one part, the proof in the part's head. Throws `Passing`, and `SegmentRefused` for any other answer.
 */
export async function fetchProven({ root, index, start, length }: Wanted): Promise<ProvenSegment> {
  const headers = { range: `bytes=${start}-${start + length - 1}` };
  const response = await fetchOnce(`/file?root=${root}&withProof=true`, { headers });
  const refuse = (why: string) => new SegmentRefused(index, `Segment ${index} was refused: ${why}.`);
  if (response.status !== 206) throw refuse(await reasonOf(response));
  const bytes = await readAtMost(response, length + MAX_HEAD_BYTES);
  if (!bytes) throw refuse("the answer is longer than a segment");
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, MAX_HEAD_BYTES));
  const headEnd = text.indexOf("\r\n\r\n");
  const proof = readProof(text.slice(0, Math.max(0, headEnd)));
  if (!proof) throw refuse("the answer has no proof");
  return { data: bytes.slice(headEnd + 4, headEnd + 4 + length), proof };
}

function readProof(head: string): SegmentProof | undefined {
  const [, json] = /^x-segment-proof: *(\{.*\})$/im.exec(head) ?? [];
  try {
    const { lemma, path } = JSON.parse(json ?? "") as { lemma?: unknown; path?: unknown };
    const isProof =
      Array.isArray(lemma) &&
      Array.isArray(path) &&
      lemma.every((hash): hash is Hex => typeof hash === "string") &&
      path.every((isRight) => typeof isRight === "boolean");
    return isProof ? { lemma, path } : undefined;
  } catch {
    return undefined;
  }
}

/** The body of a response; undefined if it has more bytes. Throws `Passing` when the connection is lost. */
async function readAtMost(response: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  const bytes = new Uint8Array(maxBytes);
  let length = 0;
  for (;;) {
    const next = await reader?.read().catch(() => {
      throw new Passing("The connection to the gateway was lost.");
    });
    if (!next || next.done) return bytes.subarray(0, length);
    if (length + next.value.length > maxBytes) {
      await reader?.cancel();
      return undefined;
    }
    bytes.set(next.value, length);
    length += next.value.length;
  }
}

async function reasonOf(response: Response): Promise<string> {
  const answer: unknown = await response.json().catch(() => undefined);
  const { message } = (answer ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : `the gateway answered ${response.status}`;
}
