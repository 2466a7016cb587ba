import { isMainThread } from "node:worker_threads";

/**
 * Loaded into the product under test with `--import`: watches the statements that it sends, and kills it with SIGKILL
 * at the one that the test names. Tests talk to it over the socket CRASH_SOCKET.
 */
const { CRASH_SOCKET } = process.env;
// Not into the programs that the product starts, nor its threads.
delete process.env.NODE_OPTIONS;
if (CRASH_SOCKET && isMainThread && process.argv[1]?.endsWith("main.js")) {
  const { watchStatements } = await import("./statement-watch.ts");
  watchStatements(CRASH_SOCKET);
}
