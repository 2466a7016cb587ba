import { expect, test } from "vitest";
import { ClientFilesService } from "../../src/client-files/client-files.service.ts";
import { FileCipher } from "../../src/client-files/file-cipher.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const settings = { maxBytes: 1_000, quotaBytes: 100_000, retentionSeconds: 3_600 };

test.each(["asc", "desc"] as const)(
  "a client may delete the files of a page before it reads the next (%s)",
  async (order) => {
    const database = await openTestDatabase();
    const owner = await seedAccount(database, 0n);
    const stranger = await seedAccount(database, 0n);
    const files = new ClientFilesService({ database, cipher: new FileCipher("deployment"), settings });
    const made = new Set<string>();
    for (let n = 0; n < 7; n++) made.add(await uploaded(files, owner));
    const seen: string[] = [];
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const { rows, hasNextPage } = await files.list(owner, { limit: 2, after }, { order });
      for (const { id } of rows) {
        seen.push(id);
        await files.delete(owner, id);
      }
      if (!hasNextPage) break;
    }
    expect(seen).toHaveLength(7);
    expect(new Set(seen)).toEqual(made);
    for (const [reader, after] of [
      [owner, crypto.randomUUID()],
      [stranger, seen[0]],
      [{ ...owner, keyId: stranger.keyId }, seen[0]],
    ] as const)
      await expect(files.list(reader, { limit: 2, after }, {})).rejects.toMatchObject({
        code: "file_not_found",
        param: "after",
      });
  },
);

async function uploaded(files: ClientFilesService, owner: Seeded): Promise<string> {
  const upload = await files.begin(owner, { filename: "input.jsonl" });
  await upload.write(Buffer.from("text"));
  return (await upload.finish()).id;
}
