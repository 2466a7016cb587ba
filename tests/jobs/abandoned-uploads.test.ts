import { expect, onTestFinished, test, vi } from "vitest";
import { ClientFilesService } from "../../src/client-files/client-files.service.ts";
import { FileCipher } from "../../src/client-files/file-cipher.ts";
import { FileSweep } from "../../src/client-files/file-sweep.runner.ts";
import type { Database } from "../../src/db/database.ts";
import { IS_READ } from "../../src/inference/batches/batch.store.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const CONTENT = Buffer.alloc(300_000, "x");
const settings = { maxBytes: 1_000_000, quotaBytes: 1_000_000, retentionSeconds: 3_600 };

test.each([
  ["shows it", "set state = 'ready'"],
  ["reads it", "state = 'ready' and expires_at"],
])(
  "a file is deleted as a whole if the answer to the statement that %s is lost: none is shown without its content",
  async (_, statement) => {
    const database = await openTestDatabase();
    const owner = await seedAccount(database, 0n);
    const files = new ClientFilesService({ database, cipher: new FileCipher("deployment"), settings });
    const upload = await files.begin(owner, { filename: "input.jsonl" });
    await upload.write(CONTENT);
    loseAnswerTo(database, statement);
    await expect(upload.finish()).rejects.toMatchObject({ code: "unavailable" });
    await upload.abandon();
    expect(await shown(files, owner)).toEqual([]);
    await new FileSweep(database, createLogger("silent"), IS_READ).sweep();
    expect(await database.rows("select 1 from client_file")).toEqual([]);
  },
);

test("the content of an upload that was given up is deleted at once", async () => {
  const database = await openTestDatabase();
  const owner = await seedAccount(database, 0n);
  const files = new ClientFilesService({ database, cipher: new FileCipher("deployment"), settings });
  const upload = await files.begin(owner, { filename: "input.jsonl" });
  await upload.write(CONTENT);
  await upload.abandon();
  expect(await database.rows("select 1 from client_file")).toEqual([]);
});

async function shown(files: ClientFilesService, owner: Seeded): Promise<readonly string[]> {
  return (await files.list(owner, { limit: 10 }, {})).rows.map(({ id }) => id);
}

/** Executes the next statement with this text, and fails as if the connection broke before its answer. */
function loseAnswerTo(database: Database, statement: string): void {
  const { rows } = database;
  let isLost = false;
  const spied = vi.spyOn(database, "rows").mockImplementation(async (sql, parameters) => {
    const answer = await rows.call(database, sql, parameters);
    if (isLost || !sql.includes(statement)) return answer;
    isLost = true;
    throw new AppError("unavailable", "The database is unreachable. Try again later.");
  });
  onTestFinished(() => spied.mockRestore());
}
