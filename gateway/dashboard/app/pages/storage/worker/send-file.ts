import { Keccak } from "../../../../../../src/storage/keccak/keccak.ts";
import { type FileTree, hashFile } from "../../../../../../src/storage/merkle/file-tree.ts";
import { SEGMENT_BYTES, segmentBytes } from "../../../../../../src/storage/merkle/shape.ts";
import { toBase64 } from "../../../data/base64.ts";
import { pause } from "../../../data/query/fetch-again.ts";
import { again, fetchOnce } from "./again.ts";
import type { FileReport } from "./messages.ts";
import { Progress, REPORT_EVERY_MS } from "./progress.ts";
import { SegmentRefused } from "./segment-failure.ts";

const READ_BYTES = 8 * SEGMENT_BYTES;
const SENDING_AT_ONCE = 4;
const SEEN_WITHIN_MS = 120_000;
/** The code of an unknown file, which some gateways answer with the status 200. */
const FILE_NOT_FOUND = 101;
const FILE_UNSEEN = "Waiting for the gateway to read the submission";

type Report = (report: FileReport) => void;

/** A file that is uploaded: it is hashed first, then sent in segments. */
export class SentFile {
  readonly tree: FileTree;
  readonly #file: Blob;
  readonly #report: Report;

  private constructor(file: Blob, tree: FileTree, report: Report) {
    this.#file = file;
    this.tree = tree;
    this.#report = report;
  }

  /** Hashes a file of any size, with 2 MiB of it in memory. Throws if it is empty or above 64 GiB, or cannot be read. */
  static async hash(file: Blob, report: Report): Promise<SentFile> {
    let reportedMs = 0;
    async function* read() {
      for (let at = 0; at < file.size; at += READ_BYTES) {
        yield new Uint8Array(await file.slice(at, at + READ_BYTES).arrayBuffer());
        if (Date.now() - reportedMs >= REPORT_EVERY_MS) {
          reportedMs = Date.now();
          report({ kind: "hashing", doneBytes: Math.min(at + READ_BYTES, file.size) });
        }
      }
    }
    return new SentFile(file, await hashFile(read(), { keccak: new Keccak() }), report);
  }

  /**
   * Sends the segments that are not `stored`, some at once, and one again when the gateway is busy or cannot be reached.
   * Throws `SegmentRefused`.
   */
  async send(stored: ReadonlySet<number>): Promise<void> {
    const { shape } = this.tree;
    const progress = new Progress(shape.segments, this.#report);
    const all = [...progress.states.keys()];
    for (const index of all) if (stored.has(index)) progress.set(index, "done");
    const missing = all.filter((index) => !stored.has(index)).values();
    const sendNext = async () => {
      for (const index of missing) await this.#sendSegment(index, progress);
    };
    try {
      // One first: until the gateway has read the submission, the others would only be refused.
      const first = missing.next();
      if (!first.done) await this.#sendSegment(first.value, progress);
      await Promise.all(Array.from({ length: SENDING_AT_ONCE }, sendNext));
    } finally {
      progress.flush();
    }
  }

  async #sendSegment(index: number, progress: Progress): Promise<void> {
    progress.set(index, "busy");
    const data = new Uint8Array(segmentBytes(this.tree.shape, index));
    const start = index * SEGMENT_BYTES;
    data.set(new Uint8Array(await this.#file.slice(start, start + SEGMENT_BYTES).arrayBuffer()));
    const proof = this.tree.proof(index);
    const body = JSON.stringify({ root: this.tree.root, index, data: toBase64(data), proof });
    try {
      await again(
        () => this.#post(index, body),
        () => progress.set(index, "again"),
      );
      progress.set(index, "done");
    } catch (error) {
      progress.set(index, "failed");
      throw error;
    }
  }

  /** Posts a segment, and again until the gateway has read the block of the submission. */
  async #post(index: number, body: string): Promise<void> {
    const headers = { "content-type": "application/json" };
    const deadlineMs = Date.now() + SEEN_WITHIN_MS;
    for (let waits = 0; ; waits++) {
      const response = await fetchOnce("/file/segment", { method: "POST", headers, body });
      const { code, message } = await readAnswer(response);
      if (response.ok && code === 0) {
        if (waits > 0) this.#report({ kind: "waiting", why: undefined });
        return;
      }
      const isUnseen = response.status === 404 || code === FILE_NOT_FOUND;
      if (!isUnseen || Date.now() > deadlineMs)
        throw new SegmentRefused(index, `Segment ${index} was refused: ${message}`);
      this.#report({ kind: "waiting", why: FILE_UNSEEN });
      await pause(0);
    }
  }
}

async function readAnswer(response: Response): Promise<{ code: number; message: string }> {
  const answer: unknown = await response.json().catch(() => undefined);
  const { code = -1, message } = (answer ?? {}) as { code?: number; message?: string };
  return { code, message: message ?? `the gateway answered ${response.status}` };
}
