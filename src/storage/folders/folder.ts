import { hexToBytes } from "@noble/hashes/utils.js";
import { equalBytes } from "../../kernel/bytes.ts";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, isHash32, lowerHex } from "../../kernel/text/hex.ts";

/** One entry of a folder. `roots` are the stored files whose concatenated bytes are the file. */
export type FolderEntry =
  | {
      readonly kind: "file";
      readonly name: string;
      readonly sizeBytes: number;
      readonly roots: readonly Hex[];
    }
  | { readonly kind: "directory"; readonly name: string; readonly entries: ReadonlyMap<string, FolderEntry> }
  | { readonly kind: "symbolic"; readonly name: string; readonly link: string };

/** A directory of a folder; its entries keep the order of the manifest. */
export type Directory = Extract<FolderEntry, { kind: "directory" }>;

/** The limits of a manifest. The folder itself, which has no name, counts neither as an entry nor as a directory. */
export const FOLDER_LIMITS = {
  bytes: 4 * 1_048_576,
  entries: 20_000,
  depth: 64,
  nameBytes: 255,
  linkBytes: 4_096,
  /** Of one file: each is looked up when the file is downloaded. */
  roots: 1_024,
  /** `,`, `[` and `{`, also within names: a file has four, and one for each root after the first. */
  separators: 140_000,
} as const;

/** keccak256("0g-storage-client-dir-codec"), the first bytes of every manifest. */
export const FOLDER_MAGIC: Uint8Array = hexToBytes(
  "a8795aa6b5ee8997448d47d3135f70f45e2d3502f8002edeef242ebd0458e7f5",
);
const HEADER_BYTES = FOLDER_MAGIC.length + 2;
const VERSIONS: readonly number[] = [1, 2];
const SEPARATORS = [0x2c, 0x5b, 0x7b] as const;
/** Names that some file systems reserve for devices. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/**
 * Decodes the manifest of a folder (facts: storage section 1.7): 32 bytes of magic, 2 of version, then JSON. Version 1
 * stores a file's root in `hash`, version 2 in `roots`; both fields are accepted in both versions. Throws
 * `folder_malformed` for an invalid manifest, for invalid file names, and beyond `FOLDER_LIMITS`.
 */
export function decodeFolder(bytes: Uint8Array): Directory {
  if (bytes.length < FOLDER_MAGIC.length) throw malformed("not enough data to read magic bytes");
  if (!equalBytes(bytes.subarray(0, FOLDER_MAGIC.length), FOLDER_MAGIC))
    throw malformed("invalid magic bytes");
  if (bytes.length < HEADER_BYTES) throw malformed("not enough data to read codec version");
  if (bytes.length > FOLDER_LIMITS.bytes)
    throw malformed(`a manifest has at most ${FOLDER_LIMITS.bytes} bytes`);
  const version = new DataView(bytes.buffer, bytes.byteOffset).getUint16(FOLDER_MAGIC.length);
  if (!VERSIONS.includes(version)) throw malformed(`unsupported codec version: ${version}`);
  const json = bytes.subarray(HEADER_BYTES);
  requireFlat(json);
  const top = readTree(parse(json));
  if (top.kind !== "directory") throw malformed("the root entry of the manifest is not a directory");
  return top;
}

/**
 * The entry at a path, looked up in the manifest only; links are not followed. An empty path is the directory itself.
 * Throws `file_path_not_found`.
 */
export function findEntry(folder: Directory, names: readonly string[]): FolderEntry {
  let entry: FolderEntry = folder;
  for (const name of names) {
    if (entry.kind !== "directory")
      throw new AppError(
        "file_path_not_found",
        `cannot locate '${name}': '${entry.name}' is not a directory`,
      );
    const next: FolderEntry | undefined = entry.entries.get(name);
    if (!next) throw new AppError("file_path_not_found", `path not found: '${name}'`);
    entry = next;
  }
  return entry;
}

/**
 * The names of a path. Empty names and "." are skipped; ".." and other invalid names throw `invalid_parameter`, as does
 * a path with too many names.
 */
export function readPath(path: string): readonly string[] {
  return checkNames(path.split("/"));
}

/** Like `readPath` for a path in a URL, where a slash within a name is still encoded. */
export function readUrlPath(path: string): readonly string[] {
  return checkNames(path.split("/").map(decodeName));
}

function checkNames(parts: readonly string[]): readonly string[] {
  if (parts.length > (FOLDER_LIMITS.depth + 1) * 2) throw badPath("The path has too many parts.");
  const names = parts.filter((part) => part !== "" && part !== ".");
  if (names.length > FOLDER_LIMITS.depth + 1) throw badPath("The path has too many parts.");
  for (const name of names)
    if (!isName(name)) throw badPath("The path has a part that is not a valid entry name.");
  return names;
}

function decodeName(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badPath("The path is not well-formed.");
  }
}

/** Whether a name may be one part of a path. */
function isName(name: string): boolean {
  return (
    name !== "" &&
    name !== "." &&
    name !== ".." &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
    !/[/\\\u0000-\u001f\u007f]/.test(name) &&
    name.isWellFormed() &&
    sizeOf(name) <= FOLDER_LIMITS.nameBytes
  );
}

/** Whether an entry of a folder may have this name. */
export function isEntryName(name: string): boolean {
  return isName(name) && !DEVICE.test(name);
}

type Visit = {
  readonly node: unknown;
  readonly depth: number;
  readonly into: Map<string, FolderEntry> | undefined;
};

/** Walks the tree without recursion, so that a deeply nested manifest is rejected without using the stack. */
function readTree(tree: unknown): FolderEntry {
  const waiting: Visit[] = [{ node: tree, depth: 0, into: undefined }];
  let top: FolderEntry | undefined;
  for (let at = 0; at < waiting.length; at++) {
    const { node, depth, into } = waiting[at] as Visit;
    const { entry, children, inside } = readNode(node, into === undefined);
    if (entry.kind === "directory" && depth > FOLDER_LIMITS.depth)
      throw malformed(`a folder is at most ${FOLDER_LIMITS.depth} directories deep`);
    if (into?.has(entry.name)) throw malformed(`the name '${entry.name}' appears twice`);
    into?.set(entry.name, entry);
    top ??= entry;
    if (waiting.length - 1 + children.length > FOLDER_LIMITS.entries)
      throw malformed(`a folder has at most ${FOLDER_LIMITS.entries} entries`);
    for (const child of children) waiting.push({ node: child, depth: depth + 1, into: inside });
  }
  return top as FolderEntry;
}

type ReadNode = {
  readonly entry: FolderEntry;
  readonly children: readonly unknown[];
  readonly inside?: Map<string, FolderEntry>;
};

function readNode(node: unknown, isTop: boolean): ReadNode {
  if (typeof node !== "object" || node === null) throw malformed("an entry is not an object");
  const { name, type, link, entries } = node as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || !(isTop || isEntryName(name)))
    throw malformed(`an entry cannot be named ${JSON.stringify(name)?.slice(0, 100)}`);
  if (type === "directory") {
    if (entries !== undefined && entries !== null && !Array.isArray(entries))
      throw malformed(`the entries of '${name}' are not a list`);
    const inside = new Map<string, FolderEntry>();
    return { entry: { kind: "directory", name, entries: inside }, children: entries ?? [], inside };
  }
  if (type === "symbolic") {
    if (typeof link !== "string" || !isTarget(link))
      throw malformed(`the link '${name}' has an invalid target`);
    return { entry: { kind: "symbolic", name, link }, children: [] };
  }
  if (type === "file")
    return { entry: readFile(name, node as Readonly<Record<string, unknown>>), children: [] };
  throw malformed(`'${name}' has an unknown type`);
}

/** A link is never followed: its target is a text of which a client makes what it can. */
function isTarget(link: string): boolean {
  return !link.includes("\0") && link.isWellFormed() && sizeOf(link) <= FOLDER_LIMITS.linkBytes;
}

/** An empty file has neither a size nor a root. */
function readFile(name: string, { hash, roots, size }: Readonly<Record<string, unknown>>): FolderEntry {
  const listed = Array.isArray(roots) ? roots : [];
  const found = listed.length > 0 || typeof hash !== "string" || hash === "" ? listed : [hash];
  const sizeBytes = size ?? 0;
  if (found.length > FOLDER_LIMITS.roots)
    throw malformed(`the file '${name}' has ${found.length} roots: at most ${FOLDER_LIMITS.roots} are read`);
  if (!found.every((root) => typeof root === "string" && isHash32(root)))
    throw malformed(`the file '${name}' has an invalid root`);
  if (typeof sizeBytes !== "number" || !Number.isSafeInteger(sizeBytes) || sizeBytes < found.length)
    throw malformed(`the file '${name}' has an invalid size`);
  if (found.length === 0 && sizeBytes > 0) throw malformed(`the file '${name}' has a size but no root`);
  return { kind: "file", name, sizeBytes, roots: found.map(lowerHex) };
}

/** Checked before parsing, which takes half a second for 4 MiB of brackets. */
function requireFlat(json: Uint8Array): void {
  let count = 0;
  for (const separator of SEPARATORS)
    for (let at = json.indexOf(separator); at !== -1; at = json.indexOf(separator, at + 1))
      if (++count > FOLDER_LIMITS.separators) throw malformed("the manifest has too many parts");
}

function parse(json: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
  } catch {
    throw malformed("the manifest is not JSON");
  }
}

/** The bytes of a text in UTF-8. */
function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function malformed(why: string): AppError {
  return new AppError("folder_malformed", why);
}

function badPath(why: string): AppError {
  return new AppError("invalid_parameter", why, { param: "path" });
}
