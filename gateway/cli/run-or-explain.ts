import { StartupError } from "../../src/kernel/errors.ts";

/** Runs a command. What the operator can put right is said in one line, what is a bug with its stack; exit code 1. */
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
    return `DATA_DIR: the folder ${String(error.path)} cannot be made (${error.message}).`;
  return undefined;
}
