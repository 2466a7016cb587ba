import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { send } from "./rest.ts";

type Readiness = { readonly status: string; readonly parts: Readonly<Record<string, unknown>> };

/** `status`: whether the gateway can serve, with the state of each component. Exit status 1 if it cannot. */
export const command: Command = async ({ words, settings, print }) => {
  if (words.length > 0) throw new UsageError("zerograph status [--url <origin>] [--json]");
  const { url, from } = settings;
  await send(`${url}/healthz`);
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(30_000) });
  const { status, parts } = (await response.json()) as Readiness;
  print({ url, ready: response.ok, parts }, () =>
    [`${url} (from ${from}) is ${status}.`, ...Object.entries(parts).map(toLine)].join("\n"),
  );
  return response.ok ? 0 : 1;
};

function toLine([name, state]: readonly [string, unknown]): string {
  return `  ${name.padEnd(12)} ${typeof state === "object" ? JSON.stringify(state) : String(state)}`;
}
