import { globSync, readFileSync } from "node:fs";

/**
 * The size of a test file, given by an optional first line, `// @module-tag <size>`: `medium` files take many seconds
 * and are not in `npm run test:fast`; `large` ones take longer, or vary a guarantee that another file tests, and are
 * only in `npm run test:all`.
 */
type Size = "medium" | "large";

/** The sizes as tags of vitest, which refuses a test file with any other. */
export const SIZES: { name: Size }[] = [{ name: "medium" }, { name: "large" }];

/** The test files of these sizes. vitest's own filter by tag would load these files anyway. */
export function filesOf(...sizes: readonly Size[]): string[] {
  const lines = sizes.map((size) => `// @module-tag ${size}\n`);
  return globSync("tests/**/*.test.ts").filter((file) => {
    const text = readFileSync(file, "utf8");
    return lines.some((line) => text.startsWith(line));
  });
}
