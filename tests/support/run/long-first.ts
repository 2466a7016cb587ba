import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take minutes although their text is short. vitest begins with the largest files when it knows no times, as
 * on a fresh clone: these would be begun last, and the rest of the processor would wait for each of them alone.
 */
const LONG = ["tests/browser/looks", "tests/process/crash", "tests/process/jobs/lost-claims"].map(
  (name) => `${name}.test.ts`,
);

/** The order in which the files of a run begin. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
