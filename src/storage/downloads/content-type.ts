/** The number of leading bytes of a file that are inspected. */
export const SNIFFED_BYTES = 512;

const BYTES = "application/octet-stream";
const TEXT = "text/plain; charset=utf-8";

type Signature = { readonly at?: number; readonly bytes: string; readonly type: string };

/** Magic bytes of formats, from the WHATWG MIME Sniffing standard (section 6) and the formats' own standards. */
const SIGNATURES: readonly Signature[] = [
  { bytes: "\x89PNG\r\n\x1a\n", type: "image/png" },
  { bytes: "\xff\xd8\xff", type: "image/jpeg" },
  { bytes: "GIF87a", type: "image/gif" },
  { bytes: "GIF89a", type: "image/gif" },
  { at: 8, bytes: "WEBPVP", type: "image/webp" },
  { at: 8, bytes: "WAVE", type: "audio/wave" },
  { at: 4, bytes: "ftypavif", type: "image/avif" },
  { at: 4, bytes: "ftyp", type: "video/mp4" },
  { bytes: "\x1aE\xdf\xa3", type: "video/webm" },
  { bytes: "OggS\0", type: "application/ogg" },
  { bytes: "ID3", type: "audio/mpeg" },
  { bytes: "fLaC", type: "audio/flac" },
  { bytes: "%PDF-", type: "application/pdf" },
  { bytes: "PK\x03\x04", type: "application/zip" },
  { bytes: "\x1f\x8b\x08", type: "application/x-gzip" },
  { bytes: "\0asm", type: "application/wasm" },
];

/**
 * The media type by a file's first bytes. Scripts, styles and pages are plain text: content stored by strangers must
 * not run in our origin.
 */
export function sniffType(start: Buffer): string {
  const head = start.subarray(0, SNIFFED_BYTES);
  const text = head.toString("latin1");
  const known = SIGNATURES.find(({ at = 0, bytes }) => text.startsWith(bytes, at));
  if (known) return known.type;
  return head.length > 0 && isText(head) ? TEXT : BYTES;
}

/** The control characters that mark a binary file, by the standard. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
const BINARY = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

function isText(head: Buffer): boolean {
  const text = new TextDecoder("utf-8").decode(head, { stream: true });
  return !text.includes("\ufffd") && !BINARY.test(text);
}
