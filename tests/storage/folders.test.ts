import { expect, test } from "vitest";
import { DownloadsService } from "../../src/storage/downloads/downloads.service.ts";
import { FilesService } from "../../src/storage/files.service.ts";
import { encodeFolder } from "../../src/storage/folders/folder-writer.ts";
import { FoldersService } from "../../src/storage/folders/folders.service.ts";
import { FileReader } from "../../src/storage/node/file-reader.ts";
import { SubmissionsService } from "../../src/storage/submissions/submissions.service.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { CHAIN_ID, newFile, openDisk, submit, upload } from "../support/storage/stored-files.ts";

/** The services over a local node, and one root under two sizes: `content`, and the same with zeros at its end. */
async function startWith(content: Uint8Array) {
  const database = await openTestDatabase();
  const node = openDisk(database);
  const file = newFile(Buffer.from(content));
  const longer = newFile(Buffer.concat([content, Buffer.alloc(256 - (content.length % 256))]));
  expect(longer.root).toBe(file.root);
  const txSeqs = [await submit(database, node, longer), await submit(database, node, file)] as const;
  await upload(node, file);
  const submissions = new SubmissionsService({
    queries: database,
    chainId: CHAIN_ID,
    flow: "0x",
    watcher: "files",
  });
  const files = new FilesService({ node, submissions });
  const reader = new FileReader({ node, cacheBytes: 0 });
  return {
    txSeqs,
    folders: new FoldersService({ files, reader }),
    downloads: new DownloadsService({ files, node, reader }),
  };
}

test("a manifest is read with the size of the submission that is named, when another has its root", async () => {
  const manifest = encodeFolder([{ names: ["empty"], sizeBytes: 0, roots: [] }]);
  const {
    folders,
    txSeqs: [padded, exact],
  } = await startWith(manifest);
  for (let turn = 0; turn < 2; turn++) {
    await expect(folders.find({ txSeq: padded }, [])).rejects.toMatchObject({ code: "folder_malformed" });
    expect(await folders.find({ txSeq: exact }, ["empty"])).toMatchObject({ kind: "file", sizeBytes: 0 });
  }
});

test("the media type of a file is that of its own bytes, when another submission has its root", async () => {
  const {
    downloads,
    txSeqs: [padded, exact],
  } = await startWith(Buffer.from("a text"));
  for (let turn = 0; turn < 2; turn++) {
    expect(await downloads.mediaType(await downloads.ofFile({ txSeq: padded }))).toBe(
      "application/octet-stream",
    );
    expect(await downloads.mediaType(await downloads.ofFile({ txSeq: exact }))).toBe(
      "text/plain; charset=utf-8",
    );
  }
});
