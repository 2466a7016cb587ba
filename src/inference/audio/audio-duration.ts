/** Slower than any encoder in use: bounds the length of audio whose bytes do not prove it. */
const SLOWEST_BYTES_PER_SECOND = 1_000;
const PCM = 1;
/** Recorders write a few chunks before the sound; a file may consist of millions of empty ones. */
const MAX_CHUNKS = 1_000;

/** The length of audio in whole seconds, rounded up; `isExact` if no reading of its bytes gives a longer one. */
export type AudioDuration = { readonly seconds: number; readonly isExact: boolean };

/**
 * The duration of an audio file: exact for uncompressed WAV, otherwise the maximum that its size allows. Values that
 * a header merely claims, such as a sample count, are not trusted.
 */
export function audioDuration(bytes: Buffer): AudioDuration {
  const exact = wavSeconds(bytes);
  if (exact !== undefined) return { seconds: Math.max(1, Math.ceil(exact)), isExact: true };
  return { seconds: Math.max(1, Math.ceil(bytes.length / SLOWEST_BYTES_PER_SECOND)), isExact: false };
}

function wavSeconds(bytes: Buffer): number | undefined {
  if (bytes.toString("latin1", 0, 4) !== "RIFF" || bytes.toString("latin1", 8, 12) !== "WAVE")
    return undefined;
  let bytesPerSecond: number | undefined;
  for (let at = 12, chunks = 0; at + 8 <= bytes.length && chunks < MAX_CHUNKS; chunks++) {
    const name = bytes.toString("latin1", at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (name === "fmt ") {
      // Of two formats, some decoders take the first and some the last.
      if (bytesPerSecond !== undefined) return undefined;
      bytesPerSecond = readBytesPerSecond(bytes, at);
    }
    if (name === "data") return bytesPerSecond ? (bytes.length - at - 8) / bytesPerSecond : undefined;
    at += 8 + size + (size & 1);
  }
  return undefined;
}

/** The speed of the format whose chunk begins at `at`; 0 if it is not uncompressed. */
function readBytesPerSecond(bytes: Buffer, at: number): number {
  if (at + 24 > bytes.length || bytes.readUInt16LE(at + 8) !== PCM) return 0;
  const sampleBytes = Math.ceil(bytes.readUInt16LE(at + 22) / 8);
  return bytes.readUInt32LE(at + 12) * bytes.readUInt16LE(at + 10) * sampleBytes;
}
