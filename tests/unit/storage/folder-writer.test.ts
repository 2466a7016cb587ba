import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { decodeFolder, FOLDER_LIMITS, findEntry } from "../../../src/storage/folders/folder.ts";
import { encodeFolder, type FolderFile } from "../../../src/storage/folders/folder-writer.ts";

const malformed = expect.objectContaining({ code: "folder_malformed" });
const ROOT: Hex = `0x${"ab".repeat(32)}`;

function file(path: string, sizeBytes = 5): FolderFile {
  return { names: path.split("/"), sizeBytes, roots: sizeBytes > 0 ? [ROOT] : [] };
}

describe("the manifest of a folder", () => {
  test("is what the network's clients write, byte by byte", () => {
    const vectors = JSON.parse(readFileSync("tests/fixtures/directory-vectors.json", "utf8"));
    const tree = JSON.parse(vectors.v2.json) as { entries: readonly { name: string; type: string }[] };
    // The vector also has a link, which a browser does not upload.
    const entries = tree.entries.filter(({ type }) => type !== "symbolic");
    const json = JSON.stringify({ ...tree, entries });
    const a = {
      ...file("a.txt", 12),
      roots: ["0xdfe95906bfa3b892a09f7d694a9ae4c94cab52fd02478051fbf33191bfc21e48"],
    };
    const b = {
      ...file("sub/b.js", 15),
      roots: ["0xae23c9e7255c6371b20b3ee815c5607c1338dea8a749dd41ecd879d99d63c665"],
    };
    const bytes = encodeFolder([b, file("empty", 0), a] as readonly FolderFile[]);
    expect(Buffer.from(bytes).toString("hex")).toBe(
      `${vectors.magicHex}0002${Buffer.from(json).toString("hex")}`,
    );
  });

  test("has every file at its path when it is read again", () => {
    const name = fc
      .string({ minLength: 1, maxLength: 8, unit: "grapheme" })
      .map((text) => `n${text.replaceAll(/[/\\\p{Cc}]/gu, "_")}`);
    const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 4 }), {
      selector: (names) => names.join("/"),
      maxLength: 20,
    });
    fc.assert(
      fc.property(paths, (all) => {
        // No file is where another one has a directory.
        const files = all.map((names) => ({ ...file("x"), names: [...names, "file"] }));
        const folder = decodeFolder(encodeFolder(files));
        for (const { names } of files)
          expect(findEntry(folder, names)).toMatchObject({ kind: "file", sizeBytes: 5, roots: [ROOT] });
      }),
      { numRuns: 50 },
    );
  });

  test("is refused with invalid names, a name twice, and beyond its limits", () => {
    for (const path of ["", "a//b", "../a", "a/.", "con", "a\\b", "a\u0000", "x".repeat(256)])
      expect(() => encodeFolder([file(path)])).toThrow(malformed);
    for (const twice of [
      ["a", "a"],
      ["a", "a/b"],
      ["a/b", "a"],
    ])
      expect(() => encodeFolder(twice.map((path) => file(path)))).toThrow(malformed);
    const deep = "d/".repeat(FOLDER_LIMITS.depth);
    expect(() => decodeFolder(encodeFolder([file(`${deep}f`)]))).not.toThrow();
    expect(() => encodeFolder([file(`${deep}d/f`)])).toThrow(malformed);
    expect(() => encodeFolder([{ ...file("f"), roots: Array(1_025).fill(ROOT) }])).toThrow(malformed);
    const many = Array.from({ length: FOLDER_LIMITS.entries + 1 }, (_, n) => file(`f${n}`));
    expect(() => encodeFolder(many)).toThrow(malformed);
    expect(decodeFolder(encodeFolder(many.slice(1))).entries.size).toBe(FOLDER_LIMITS.entries);
    expect(decodeFolder(encodeFolder([])).entries.size).toBe(0);
  });
});
