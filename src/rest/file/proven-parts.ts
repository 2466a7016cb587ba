import { randomBytes } from "node:crypto";
import type { ProvenSegment } from "../../storage/downloads/download-stream.ts";

/** A multipart boundary that no stored file can predict. */
export function newBoundary(): string {
  return `segment-${randomBytes(16).toString("hex")}`;
}

type Form = { readonly boundary: string; readonly sizeBytes: number };

/**
 * Proven segments as the body of a multipart response. The headers of a part have the position of its bytes in the
 * download (`Content-Range`), the segment (`X-Segment-Index`), the root of its file (`X-Segment-Root`) and the merkle
 * proof (`X-Segment-Proof`, the JSON `{"lemma":[],"path":[]}` of the upload). To verify, pad the bytes with zeros
 * to the chunks of the segment in the padded file (`segmentLeaves`).
 */
export class ProvenParts implements AsyncIterator<Uint8Array> {
  readonly #segments: AsyncIterator<ProvenSegment>;
  readonly #form: Form;
  readonly #ready: Buffer[] = [];
  #ended = false;

  constructor(segments: AsyncIterator<ProvenSegment>, form: Form) {
    this.#segments = segments;
    this.#form = form;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const ready = this.#ready.shift();
    if (ready) return { done: false, value: ready };
    if (this.#ended) return { done: true, value: undefined };
    const next = await this.#segments.next();
    if (!next.done) {
      this.#ready.push(next.value.data, Buffer.from("\r\n"));
      return { done: false, value: Buffer.from(headOf(next.value, this.#form)) };
    }
    this.#ended = true;
    return { done: false, value: Buffer.from(`--${this.#form.boundary}--\r\n`) };
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#ended = true;
    this.#ready.length = 0;
    await this.#segments.return?.();
    return { done: true, value: undefined };
  }
}

function headOf({ root, index, start, data, proof }: ProvenSegment, { boundary, sizeBytes }: Form): string {
  return [
    `--${boundary}`,
    "Content-Type: application/octet-stream",
    `Content-Range: bytes ${start}-${start + data.length - 1}/${sizeBytes}`,
    `X-Segment-Root: ${root}`,
    `X-Segment-Index: ${index}`,
    `X-Segment-Proof: ${JSON.stringify(proof)}`,
    "",
    "",
  ].join("\r\n");
}
