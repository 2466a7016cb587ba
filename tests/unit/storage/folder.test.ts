import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  decodeFolder,
  FOLDER_LIMITS,
  findEntry,
  readPath,
  readUrlPath,
} from "../../../src/storage/folders/folder.ts";
import { encodeFolder } from "../../support/storage/folder.ts";

const vectors = JSON.parse(
  readFileSync(new URL("../../fixtures/directory-vectors.json", import.meta.url), "utf8"),
);
const root = `0x${"ab".repeat(32)}`;
const file = (name: unknown) => ({ name, type: "file", roots: [root], size: 1 });
const folderOf = (...entries: unknown[]) => ({ name: "/", type: "directory", entries });
const codeOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
};

describe("a folder", () => {
  test.each([
    ["1", encodeFolder(JSON.parse(vectors.v1.json), 1)],
    ["2", Buffer.from(vectors.v2.blobHex, "hex")],
  ])("of version %s is read as the network's clients wrote it", (_version, blob) => {
    const folder = decodeFolder(blob);
    expect([...folder.entries.keys()]).toEqual(["a.txt", "empty", "link", "sub"]);
    const a = vectors.files["a.txt"];
    expect(findEntry(folder, ["a.txt"])).toEqual({
      kind: "file",
      name: "a.txt",
      sizeBytes: a.size,
      roots: [a.root],
    });
    expect(findEntry(folder, ["empty"])).toEqual({ kind: "file", name: "empty", sizeBytes: 0, roots: [] });
    expect(findEntry(folder, ["link"])).toEqual({ kind: "symbolic", name: "link", link: "a.txt" });
    expect(findEntry(folder, ["sub", "b.js"])).toMatchObject({ sizeBytes: 15 });
    expect(findEntry(folder, [])).toBe(folder);
  });

  test("is written with the length and the bytes of the vector", () => {
    const written = encodeFolder(JSON.parse(vectors.v2.json), 2);
    expect(written.toString("hex")).toBe(vectors.v2.blobHex);
  });

  test("reports what is missing on a path in the network's own words, and follows no link", () => {
    const folder = decodeFolder(Buffer.from(vectors.v2.blobHex, "hex"));
    const textOf = (path: string[]) => () => findEntry(folder, path);
    expect(textOf(["none"])).toThrow("path not found: 'none'");
    expect(textOf(["a.txt", "x"])).toThrow("cannot locate 'x': 'a.txt' is not a directory");
    expect(textOf(["link", "x"])).toThrow("cannot locate 'x': 'link' is not a directory");
    expect(textOf(["__proto__"])).toThrow("path not found: '__proto__'");
  });

  test.each([
    ["", "not enough data to read magic bytes"],
    ["00".repeat(40), "invalid magic bytes"],
    [vectors.magicHex, "not enough data to read codec version"],
    [`${vectors.magicHex}0003${Buffer.from("{}").toString("hex")}`, "unsupported codec version: 3"],
    [`${vectors.magicHex}0002${Buffer.from("{").toString("hex")}`, "the manifest is not JSON"],
    [`${vectors.magicHex}0002ff`, "the manifest is not JSON"],
  ])("that begins with %s is not a folder", (hex, text) => {
    expect(() => decodeFolder(Buffer.from(hex, "hex"))).toThrow(text);
  });

  test.each([
    ["../x"],
    ["/etc"],
    [""],
    ["a/b"],
    ["a\\b"],
    ["."],
    [".."],
    ["CON"],
    ["nul"],
    ["a\0b"],
    ["a\nb"],
    ["\ud800"],
    ["n".repeat(256)],
    [7],
    [null],
  ])("with an entry called %j is refused", (name) => {
    expect(codeOf(() => decodeFolder(encodeFolder(folderOf(file(name)))))).toBe("folder_malformed");
  });

  test("with unusual but harmless names is accepted", () => {
    const names = ["aux.c", "__proto__", "constructor", "..a", " ", "日本語", "con.txt", "-rf"];
    const folder = decodeFolder(encodeFolder(folderOf(...names.map(file))));
    expect([...folder.entries.keys()]).toEqual(names);
    expect(findEntry(folder, ["__proto__"])).toMatchObject({ sizeBytes: 1 });
  });

  test.each([
    ["a duplicate name", folderOf(file("a"), file("a"))],
    ["an invalid type", folderOf({ name: "a", type: "device" })],
    ["no type", folderOf({ name: "a" })],
    ["an invalid root", folderOf({ ...file("a"), roots: ["0x12"] })],
    ["a size below its roots", folderOf({ ...file("a"), size: 0 })],
    ["a size that is a fraction", folderOf({ ...file("a"), size: 1.5 })],
    ["a size below 0", folderOf({ ...file("a"), size: -1 })],
    ["a size and no root", folderOf({ name: "a", type: "file", size: 3 })],
    ["entries that are not a list", folderOf({ name: "a", type: "directory", entries: { length: 2 } })],
    ["entries that are not objects", folderOf(1, "a", null)],
    ["a link without an end", folderOf({ name: "a", type: "symbolic" })],
    ["a link to half a surrogate", folderOf({ name: "a", type: "symbolic", link: "b\ud800" })],
    ["a file at its top", file("/")],
    ["a list at its top", []],
    ["null at its top", null],
  ])("with %s is refused", (_what, tree) => {
    expect(codeOf(() => decodeFolder(encodeFolder(tree)))).toBe("folder_malformed");
  });

  test("is refused beyond its limits, however deep or long it is, without parsing the rest", () => {
    let deep: unknown = file("x");
    for (let level = 0; level < FOLDER_LIMITS.depth; level++)
      deep = { name: "d", type: "directory", entries: [deep] };
    const path = readPath(`${"d/".repeat(FOLDER_LIMITS.depth)}x`);
    expect(findEntry(decodeFolder(encodeFolder(folderOf(deep))), path)).toMatchObject({ name: "x" });
    const tooDeep = { name: "d", type: "directory", entries: [deep] };
    expect(() => decodeFolder(encodeFolder(folderOf(tooDeep)))).toThrow("64 directories deep");
    expect(() => readPath("d/".repeat(FOLDER_LIMITS.depth + 2))).toThrow("too many parts");
    const deeper = `${'{"name":"d","type":"directory","entries":['.repeat(10_000)}${"]}".repeat(10_000)}`;
    expect(codeOf(() => decodeFolder(encodeFolder(deeper)))).toBe("folder_malformed");
    const many = Array.from({ length: FOLDER_LIMITS.entries + 1 }, (_, n) => file(String(n)));
    expect(() => decodeFolder(encodeFolder(folderOf(...many)))).toThrow("at most 20000 entries");
    const inside = { name: "d", type: "directory", entries: many.slice(1) };
    expect(() => decodeFolder(encodeFolder(folderOf(inside)))).toThrow("at most 20000 entries");
    const fragments = (length: number) => ({ ...file("f"), roots: Array(length).fill(root), size: length });
    expect(() => decodeFolder(encodeFolder(folderOf(fragments(1_024))))).not.toThrow();
    expect(() => decodeFolder(encodeFolder(folderOf(fragments(1_025))))).toThrow(
      "the file 'f' has 1025 roots: at most 1024 are read",
    );
    expect(() => decodeFolder(encodeFolder(" ".repeat(FOLDER_LIMITS.bytes)))).toThrow(
      "a manifest has at most",
    );
  });
});

describe("the largest manifests", () => {
  const head = encodeFolder("").subarray(0, 34);
  const manifest = (json: string) => Buffer.concat([head, Buffer.from(json)]);

  test("20,000 files with a root each are accepted", () => {
    const roots = [`0x${"a".repeat(64)}`];
    const entries = Array.from({ length: FOLDER_LIMITS.entries }, (_, n) => ({
      ...{ name: `file-${n}`, type: "file", roots, size: 10 },
    }));
    const bytes = encodeFolder({ name: "/", type: "directory", entries });
    expect(decodeFolder(bytes).entries.size).toBe(FOLDER_LIMITS.entries);
  });

  test.each([
    ["brackets", `{"name":"/","type":"directory","more":${"[".repeat(2_000_000)}${"]".repeat(2_000_000)}}`],
    [
      "members",
      `{"name":"/","type":"directory"${Array.from({ length: 300_000 }, (_, n) => `,"k${n}":0`).join("")}}`,
    ],
    ["objects", `{"name":"/","type":"directory","entries":[${Array(1_000_000).fill("{}").join(",")}]}`],
  ])("4 MiB of %s are refused before they are parsed", (_what, json) => {
    const parse = vi.spyOn(JSON, "parse");
    onTestFinished(() => parse.mockRestore());
    expect(() => decodeFolder(manifest(json))).toThrow("the manifest has too many parts");
    expect(parse).not.toHaveBeenCalled();
  });
});

describe("a path in a folder", () => {
  test("is split into names; empty ones and dots stand for the current folder", () => {
    expect(readPath("/a/./b//c/")).toEqual(["a", "b", "c"]);
    expect(readUrlPath("a%20b/%E6%97%A5")).toEqual(["a b", "日"]);
    expect(readUrlPath("%252e%252e/x")).toEqual(["%2e%2e", "x"]);
    expect(readPath("")).toEqual([]);
  });

  test.each([
    ["../x"],
    ["a/../b"],
    ["%2e%2e/x"],
    [".%2e"],
    ["a%2Fb"],
    ["a%5Cb"],
    ["a\\b"],
    ["%00"],
    ["%c0%ae%c0%ae"],
    ["%"],
    ["%zz"],
    ["a/".repeat(2_000)],
    ["/".repeat(2_000)],
    ["n".repeat(256)],
  ])("that reads %j is refused", (path) => {
    expect(codeOf(() => readUrlPath(path))).toBe("invalid_parameter");
  });
});
