import { joinBytes } from "../../kernel/bytes.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { FOLDER_LIMITS, FOLDER_MAGIC, isEntryName } from "./folder.ts";

/** A file of a folder that is written. `names` is its path; an empty file has no root. */
export type FolderFile = {
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly roots: readonly Hex[];
};

const VERSION = 2;

type Node =
  | { readonly name: string; readonly type: "file"; readonly roots?: readonly Hex[]; readonly size?: number }
  | { readonly name: string; readonly type: "directory"; readonly entries?: readonly Node[] };

/** A directory that is being written. */
type Open = { readonly directories: Map<string, Open>; readonly files: Map<string, FolderFile> };

/**
 * Encodes the manifest of a folder, which `decodeFolder` reads (facts: storage section 1.7): version 2, its entries
 * sorted by the bytes of their names. Throws `folder_malformed` for an invalid name, for a name that appears twice, and
 * beyond `FOLDER_LIMITS`.
 */
export function encodeFolder(files: readonly FolderFile[]): Uint8Array<ArrayBuffer> {
  const top = newDirectory();
  for (const file of files) add(top, file);
  const entries = entriesOf(top);
  if (countOf(entries) > FOLDER_LIMITS.entries)
    throw new AppError("folder_malformed", `a folder has at most ${FOLDER_LIMITS.entries} entries`);
  const tree: Node = { name: "/", type: "directory", ...(entries.length > 0 && { entries }) };
  const json = new TextEncoder().encode(JSON.stringify(tree));
  const bytes = joinBytes([FOLDER_MAGIC, Uint8Array.of(VERSION >> 8, VERSION & 0xff), json]);
  if (bytes.length > FOLDER_LIMITS.bytes)
    throw new AppError("folder_malformed", `a manifest has at most ${FOLDER_LIMITS.bytes} bytes`);
  return bytes;
}

function newDirectory(): Open {
  return { directories: new Map(), files: new Map() };
}

function add(top: Open, file: FolderFile): void {
  const names = [...file.names];
  const name = names.pop();
  if (names.length > FOLDER_LIMITS.depth)
    throw new AppError("folder_malformed", `a folder is at most ${FOLDER_LIMITS.depth} directories deep`);
  let directory = top;
  for (const part of names) {
    requireName(part, directory.files);
    const inside = directory.directories.get(part) ?? newDirectory();
    directory.directories.set(part, inside);
    directory = inside;
  }
  requireName(name ?? "", directory.files, directory.directories);
  if (file.roots.length > FOLDER_LIMITS.roots)
    throw new AppError("folder_malformed", `a file of a folder has at most ${FOLDER_LIMITS.roots} roots`);
  directory.files.set(name ?? "", file);
}

function requireName(name: string, ...taken: readonly ReadonlyMap<string, unknown>[]): void {
  if (!isEntryName(name))
    throw new AppError("folder_malformed", `an entry cannot be named ${JSON.stringify(name).slice(0, 100)}`);
  if (taken.some((names) => names.has(name)))
    throw new AppError("folder_malformed", `the name '${name}' appears twice`);
}

function entriesOf({ directories, files }: Open): readonly Node[] {
  const inside = [...directories].map(([name, open]): Node => {
    const entries = entriesOf(open);
    return { name, type: "directory", ...(entries.length > 0 && { entries }) };
  });
  const written = [...files].map(([name, { roots, sizeBytes }]): Node => {
    return {
      name,
      type: "file",
      ...(roots.length > 0 && { roots }),
      ...(sizeBytes > 0 && { size: sizeBytes }),
    };
  });
  const keyed = [...inside, ...written].map((node) => ({ node, key: new TextEncoder().encode(node.name) }));
  return keyed.sort((one, other) => compareBytes(one.key, other.key)).map(({ node }) => node);
}

function countOf(entries: readonly Node[]): number {
  return entries.reduce(
    (sum, node) => sum + 1 + (node.type === "directory" ? countOf(node.entries ?? []) : 0),
    0,
  );
}

function compareBytes(one: Uint8Array, other: Uint8Array): number {
  for (const [at, byte] of one.entries()) {
    const difference = byte - (other[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}
