import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepTemplate, templateFolder } from "../src/db/embedded/template.ts";
import { openDatabase } from "../src/db/open.ts";

/** Builds the database template that `npm start` copies instead of creating a database; see src/db/embedded/template.ts. */
if (!existsSync(templateFolder())) {
  const folder = mkdtempSync(join(tmpdir(), "zerograph-template-"));
  try {
    const database = await openDatabase({ kind: "folder", path: folder });
    await database.close();
    keepTemplate(join(folder, "postgres"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
