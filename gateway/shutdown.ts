import closeWithGrace from "close-with-grace";
import type { Logger } from "../src/kernel/log.ts";
import { isSupervised } from "./processes.ts";

const SHUTDOWN_MS = 45_000;

/**
 * Signals that report a fault of the process itself. A handler in JavaScript would replace V8's own, by which a trap in
 * WebAssembly becomes an exception, and the failing instruction would be repeated forever.
 */
const FAULTS: NonNullable<closeWithGrace.Options["skip"]> = [
  "SIGSEGV",
  "SIGBUS",
  "SIGFPE",
  "SIGILL",
  "SIGTRAP",
  "SIGABRT",
];

/**
 * Ends the process gracefully when it receives a signal to end or throws an uncaught error: runs `end` once, and exits
 * after 45 s at the latest.
 */
export function endGracefully(end: () => Promise<void>, log: Pick<Logger, "error">): void {
  const skip = isSupervised ? [...FAULTS, "SIGINT" as const] : FAULTS;
  if (isSupervised) {
    // A terminal sends Ctrl-C to all processes of a command; this one ends when its supervisor says so, or has ended.
    process.on("SIGINT", () => {});
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  }
  closeWithGrace({ delay: SHUTDOWN_MS, logger: false, skip }, async ({ err }) => {
    if (err) log.error({ err }, "the process is shutting down because of an error");
    await end();
  });
}
