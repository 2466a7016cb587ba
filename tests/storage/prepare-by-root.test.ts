import { expect, test } from "vitest";
import { FilesService } from "../../src/storage/files.service.ts";
import { SubmissionsService } from "../../src/storage/submissions/submissions.service.ts";
import { UploadsService } from "../../src/storage/uploads/uploads.service.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { CHAIN_ID, newFile, openDisk, submit } from "../support/storage/stored-files.ts";

const from = "0x2222222222222222222222222222222222222222";

test("an upload is prepared from its root although the first submission of the root has a false shape", async () => {
  const database = await openTestDatabase();
  const node = openDisk(database);
  const file = newFile(300_000);
  const { root } = file;
  const sizeBytes = file.bytes.length;
  const falseSeq = await submit(database, node, file, { sizeBytes: 4_000, sectors: 16 });
  await database.rows("update submission set nodes = $1::text::jsonb where tx_seq = $2::numeric", [
    JSON.stringify([{ root, height: 4 }]),
    falseSeq.toString(),
  ]);
  const queries = database;
  const submissions = new SubmissionsService({ queries, chainId: CHAIN_ID, flow: "0x", watcher: "files" });
  const files = new FilesService({ node, submissions });
  const flow = { address: from, pricePerSector: async () => 1n, refusalOf: async () => undefined };
  const uploads = new UploadsService({ node, files, flow, chainId: CHAIN_ID, committed() {} } as never);

  await expect(uploads.prepare({ root, sizeBytes, from })).rejects.toMatchObject({
    param: "nodes",
    message: expect.stringContaining("The root alone is not enough"),
  });
  await submit(database, node, file);
  expect(await uploads.prepare({ root, sizeBytes, from })).toMatchObject({
    nodes: file.tree.nodes,
    transaction: undefined,
    fee: 0n,
  });
});
