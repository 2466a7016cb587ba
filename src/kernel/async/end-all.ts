/** Runs all of these in order, each after the one before has ended, and passes what fails to `failed`. */
export async function endAll(
  ends: readonly (() => Promise<unknown> | undefined)[],
  failed: (error: unknown) => void,
): Promise<void> {
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      failed(error);
    }
  }
}
