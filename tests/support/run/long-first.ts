import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take minutes although they are short. Without earlier durations, as on a fresh clone, vitest starts the
 * largest files first: these would start last and run alone while the other workers are idle.
 */
const LONG = [
  "tests/browser/looks",
  "tests/process/crash-points",
  "tests/process/start",
  "tests/process/jobs/lost-claims",
].map((name) => `${name}.test.ts`);

/** Starts the long files first, and the others in the order of vitest. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
