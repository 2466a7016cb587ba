const RATE = 8_000;
const HEADER_BYTES = 44;

/** WAV audio of this many seconds: one channel, 8 bits, 8 kHz. `seed` varies the content. */
export function toWav(seconds: number, seed = 0): Buffer {
  const samples = Math.round(seconds * RATE);
  const bytes = Buffer.alloc(HEADER_BYTES + samples, 128 + (seed % 64));
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(36 + samples, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE, 24);
  bytes.writeUInt32LE(RATE, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(samples, 40);
  return bytes;
}
