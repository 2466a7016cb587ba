import { createHash } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";

/** The width and height of an image, pixels. */
export type ImageSize = { readonly width: number; readonly height: number };

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 8;
const DISCS = 6;
const INDEXED_8_BIT = [8, 3, 0, 0, 0];

/** Draws a PNG from `seed` alone, as bands of sky with discs on them: the same seed gives the same image. */
export function drawImage(seed: string | Buffer, { width, height }: ImageSize): Buffer {
  const digest = createHash("sha512").update(seed).digest();
  const at = (index: number) => digest[index % digest.length] ?? 0;
  const palette = Buffer.from(Array.from({ length: COLOURS * 3 }, (_, index) => at(index)));
  const discs = Array.from({ length: DISCS }, (_, index) => ({
    x: (at(24 + index) / 255) * width,
    y: (at(30 + index) / 255) * height,
    radius: ((at(36 + index) / 255) * Math.min(width, height)) / 4 + 1,
    colour: at(42 + index) % COLOURS,
  }));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    const start = y * (width + 1) + 1;
    rows.fill(Math.floor((y / height) * COLOURS), start, start + width);
    for (const disc of discs) {
      const half = Math.sqrt(disc.radius ** 2 - (y - disc.y) ** 2);
      if (Number.isNaN(half)) continue;
      const from = Math.max(0, Math.ceil(disc.x - half));
      rows.fill(disc.colour, start + from, start + Math.min(width, Math.floor(disc.x + half)));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(INDEXED_8_BIT, 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The size of a PNG by its header; undefined if it is not a PNG. */
export function sizeOfPng(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || !bytes.subarray(0, 8).equals(SIGNATURE)) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const bytes = Buffer.alloc(body.length + 8);
  bytes.writeUInt32BE(data.length, 0);
  bytes.set(body, 4);
  bytes.writeUInt32BE(crc32(body), body.length + 4);
  return bytes;
}
