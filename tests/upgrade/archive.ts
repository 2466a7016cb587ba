import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

/** The longest distance at which Brotli finds a repetition: 2^24 bytes. */
const WINDOW_BITS = 24;

/** Writes a text or bytes to a file, compressed as far as Brotli can. */
export async function writeCompressed(file: string, content: string | Buffer): Promise<void> {
  const bytes = Buffer.from(content);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  await writeFile(file, brotliCompressSync(bytes, { params }));
}

/** What `writeCompressed` wrote. */
export async function readCompressed(file: string): Promise<Buffer> {
  return brotliDecompressSync(await readFile(file));
}

/**
 * Packs a folder as a tar archive. PostgreSQL stores the same system tables in each of a cluster's three
 * databases, in files of the same name: next to each other, two of the three cost nothing when compressed.
 */
export async function packFolder(folder: string): Promise<Buffer> {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = (entries: typeof all) => entries.map(({ parentPath, name }) => `${parentPath}/${name}`);
  const folders = paths(all.filter((entry) => entry.isDirectory())).sort();
  const files = paths(all.filter((entry) => entry.isFile())).sort(byName);
  const list = [...folders, ...files].map((path) => path.slice(folder.length + 1)).join("\n");
  return tar(["-c", "-C", folder, "--no-recursion", "-T", "-"], Buffer.from(list));
}

/** Unpacks into an existing folder. */
export async function unpackFolder(archive: Buffer, folder: string): Promise<void> {
  await tar(["-x", "-C", folder], archive);
}

function byName(one: string, other: string): number {
  const [first, second] = [basename(one), basename(other)];
  if (first === second) return one < other ? -1 : 1;
  return first < second ? -1 : 1;
}

async function tar(args: readonly string[], input: Buffer): Promise<Buffer> {
  const child = spawn("tar", args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  child.stdin.end(input);
  const [output, code] = await Promise.all([buffer(child.stdout), ended]);
  if (code !== 0) throw new Error(`tar ended with code ${code}`);
  return output;
}
