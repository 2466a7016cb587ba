import type { Reporter, SerializedError, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/**
 * Prints each failure when it happens. The default reporter prints failures at the end of the run: a run that is
 * interrupted or times out would lose them.
 */
export class FailuresAtOnce implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestCaseResult(test: TestCase): void {
    this.#print(test, test.fullName, test.result().errors);
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#print(suite, suite.fullName, suite.errors());
  }

  onTestModuleEnd(file: TestModule): void {
    this.#print(file, file.relativeModuleId, file.errors());
  }

  #print(
    { project }: TestCase | TestSuite | TestModule,
    name: string,
    errors: readonly SerializedError[] = [],
  ): void {
    for (const error of errors) {
      this.#vitest?.logger.error(`\n FAILED  ${name}`);
      this.#vitest?.logger.printError(error, { project });
    }
  }
}
