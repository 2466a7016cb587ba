import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { readReadiness } from "./readiness.ts";

/** `status`: whether the gateway can serve, with the state of each component. Exit status 1 if it cannot. */
export const command: Command = async ({ words, settings, print }) => {
  if (words.length > 0) throw new UsageError("zerograph status [--url <address>] [--json]");
  const { url, from } = settings;
  const { isReady, status, parts } = await readReadiness(url);
  print({ url, ready: isReady, parts }, () =>
    [`${url} (from ${from}) is ${status}.`, ...Object.entries(parts).map(toLine)].join("\n"),
  );
  return isReady ? 0 : 1;
};

function toLine([name, state]: readonly [string, unknown]): string {
  return `  ${name.padEnd(12)} ${typeof state === "object" ? JSON.stringify(state) : String(state)}`;
}
