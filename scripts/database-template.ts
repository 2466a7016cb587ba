import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../src/db/open.ts";
import { keepTemplate, templateFolder } from "../src/db/template.ts";

/** Builds the database template that `npm start` copies instead of creating a database; see src/db/template.ts. */
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
