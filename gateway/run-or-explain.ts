import { StartupError } from "../src/kernel/errors.ts";

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
  if (error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error)
    return `PORT: port ${String(error.port)} is in use by another process. Stop it, or set PORT to another one.`;
  return undefined;
}
