import { expect, test } from "vitest";
import { readChosen } from "../../../gateway/dashboard/app/pages/storage/upload/chosen-files.ts";

/** What a field holds: files of so many bytes, by their paths. */
function fileList(sizes: Readonly<Record<string, number>>): FileList {
  const files = Object.entries(sizes).map(([path, size]) => {
    const file = new File([new Uint8Array(size)], path.split("/").at(-1) ?? "");
    return Object.assign(file, { webkitRelativePath: path.includes("/") ? path : "" });
  });
  return files as unknown as FileList;
}

test("an empty file is named, and the files beside it are chosen", () => {
  const chosen = readChosen(fileList({ "a.txt": 1, "empty.txt": 0, "big.bin": 300_000, "none.txt": 0 }));
  expect(chosen.files.map(({ file }) => file.name)).toEqual(["a.txt", "big.bin"]);
  expect(chosen.faults.join(" ")).toBe(
    "empty.txt is empty. none.txt is empty. The network stores files of at least one byte.",
  );
});

test("an empty file of a folder is part of it", () => {
  const { folders, faults } = readChosen(fileList({ "sea/a.txt": 1, "sea/empty.txt": 0 }));
  expect(folders.map(({ name, files }) => [name, files.map(({ path }) => path)])).toEqual([
    ["sea", [["a.txt"], ["empty.txt"]]],
  ]);
  expect(faults).toEqual([]);
});
