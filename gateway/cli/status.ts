import { type Config, readPartialConfig } from "../../src/config.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";
import { readStatus, toBanner } from "./welcome.ts";

/** Of one request to a process on this machine. */
const TIMEOUT_MS = 5_000;

/**
 * `npm run status`: what is running on this machine's data folder, as the banner or, with `--json`, as data; else, what
 * the process at `METRICS_PORT` says of its readiness, which a process of any role has.
 */
await runOrExplain(async () => {
  const { flags } = readCommandLine({ usage: "npm run status [-- --json]", flags: ["--json"] });
  const config = readPartialConfig();
  const status = readStatus(config.DATA_DIR);
  const isUp = status !== undefined && (await request(`${status.urls.origin}/healthz`))?.ok === true;
  const readiness = isUp ? undefined : await readinessAt(config);
  if (flags.has("--json"))
    console.log(JSON.stringify({ running: isUp || readiness !== undefined, ...(isUp ? status : readiness) }));
  else if (isUp) console.log(toBanner(status));
  else if (readiness) console.log(toLines(readiness));
  else console.log("zerograph is not running here. Start it with: npm start");
  process.exitCode = isUp || readiness ? 0 : 1;
});

type ProcessReadiness = {
  readonly url: string;
  /** `ready` or `not ready`. */
  readonly status: string;
  readonly parts: Readonly<Record<string, string>>;
};

/** What the process at `METRICS_PORT` says of itself; undefined if none does. */
async function readinessAt({ METRICS_HOST, METRICS_PORT }: Config): Promise<ProcessReadiness | undefined> {
  if (!METRICS_PORT) return undefined;
  // A process that listens on every address is on this one, too.
  const host = ["0.0.0.0", "::"].includes(METRICS_HOST) ? "127.0.0.1" : METRICS_HOST;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${METRICS_PORT}/readyz`;
  const reply = await request(url);
  const said = (await reply?.json().catch(() => undefined)) as Partial<ProcessReadiness> | undefined;
  return said?.status && said.parts ? { url, status: said.status, parts: said.parts } : undefined;
}

function toLines({ url, status, parts }: ProcessReadiness): string {
  const states = Object.entries(parts).map(([name, text]) => `  ${name}: ${text}`);
  return [`A process of zerograph is ${status} (${url})`, ...states].join("\n");
}

function request(url: string): Promise<Response | undefined> {
  return fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
}
