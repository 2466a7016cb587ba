import { StartupError } from "../../src/kernel/errors.ts";

/**
 * Runs a command. Exits with code 1 on failure: prints one line for an operator error, and the stack for a bug.
 */
export async function runOrExplain(command: () => Promise<void>): Promise<void> {
  try {
    await command();
  } catch (error) {
    const line = explain(error);
    console.error(line ?? error);
    process.exit(1);
  }
}

function explain(error: unknown): string | undefined {
  if (error instanceof StartupError) return error.message;
  if (error instanceof Error && "syscall" in error && error.syscall === "mkdir" && "path" in error)
    return `DATA_DIR: the folder ${String(error.path)} cannot be created (${error.message}).`;
  return undefined;
}
