import { globSync, readFileSync } from "node:fs";

/**
 * The size of a test file, from the first line that it may have, `// @module-tag <size>`: `medium` files take many
 * seconds and are not in `npm run test:fast`; `large` ones take longer, or vary what others show, and are only in
 * `npm run test:all`.
 */
export type Size = "medium" | "large";

/** The test files of these sizes. A filter of vitest by tag would load them all the same. */
export function filesOf(...sizes: readonly Size[]): string[] {
  const lines = sizes.map((size) => `// @module-tag ${size}\n`);
  return globSync("tests/**/*.test.ts").filter((file) => {
    const text = readFileSync(file, "utf8");
    return lines.some((line) => text.startsWith(line));
  });
}
