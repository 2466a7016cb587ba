import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { findChromium } from "../tests/support/clients/find-chromium.ts";

/**
 * `npm run first-minutes`: measures a newcomer's waiting times, from an empty folder to a live dashboard. It clones
 * the committed state, with an empty npm cache and only Node, npm and the shell's own tools on PATH, and writes the
 * times into docs/first-five-minutes.md.
 */
const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const PAGE = join(REPOSITORY, "docs/first-five-minutes.md");
const TABLE = /(<!-- measured -->\n).*(<!-- \/measured -->)/s;
const TOOLS = ["node", "npm", "sh", "env", "dirname", "sleep", "uname", "cp", "rm", "cat"];
/** Variables through which this machine reaches its npm registry. */
const NETWORK =
  /^(?:HOME|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|(?:https?|no)_proxy|npm_config_(?:registry|userconfig|globalconfig|cafile))$/i;
const TIMEOUT_MS = 900_000;

type Step = { readonly what: string; readonly ms: number };
type Status = {
  readonly urls: { origin: string; openai: string; sse: string; dashboard: string };
  readonly keys: { apiKey: string; managementKey: string };
};

const folder = mkdtempSync(join(tmpdir(), "zerograph-newcomer-"));
const clone = join(folder, "zerograph");
const steps: Step[] = [];

async function measure<T>(what: string, act: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const value = await act();
  const ms = performance.now() - startedMs;
  steps.push({ what, ms });
  console.log(`${clock(ms).padStart(8)}  ${what}`);
  return value;
}

/** An environment whose PATH has these tools only, with npm's own configuration and an empty cache. */
async function bareEnvironment(): Promise<NodeJS.ProcessEnv> {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const tool of TOOLS) {
    const { stdout } = await run("sh", ["-c", `command -v ${tool}`], { env: outerEnvironment() });
    symlinkSync(stdout.trim(), join(bin, tool));
  }
  const inherited = Object.entries(process.env).filter(([name]) => NETWORK.test(name));
  return {
    ...Object.fromEntries(inherited),
    PATH: bin,
    npm_config_cache: join(folder, "npm-cache"),
    PORT: "0",
  };
}

/** Without node_modules/.bin, whose Node a newcomer does not have yet. */
function outerEnvironment(): NodeJS.ProcessEnv {
  const PATH = process.env.PATH?.split(":")
    .filter((part) => !part.includes("node_modules"))
    .join(":");
  return { ...process.env, PATH };
}

async function main(): Promise<void> {
  const load = loadavg()[0] ?? 0;
  const env = await bareEnvironment();
  await measure("`git clone`", () => run("git", ["clone", "--quiet", "--no-hardlinks", REPOSITORY, clone]));
  await measure("`npm ci`, with an empty cache", () =>
    run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: clone,
      env,
      timeout: TIMEOUT_MS,
    }),
  );
  const product = spawn("npm", ["start"], {
    cwd: clone,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const ended = once(product, "exit");
  try {
    const status = await measure("`npm start`, until it serves", () => whenReady(product.stdout));
    await measure("first word of a streamed answer", () => firstWord(status));
    await measure("first event of a subscription", () => firstEvent(status));
    await measure("the dashboard, signed in", () => openDashboard(status));
  } finally {
    if (product.pid !== undefined) process.kill(-product.pid, "SIGTERM");
    await ended;
  }
  const { stdout: version } = await run("node", ["--version"], { env });
  writeTable(
    `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${version.trim()} on PATH, load ${load.toFixed(1)} at the start`,
  );
}

async function whenReady(output: NodeJS.ReadableStream): Promise<Status> {
  let text = "";
  output.setEncoding("utf8");
  for await (const part of output) {
    text += part;
    const [, origin] = /OpenAI clients +(http:\S+)\/v1/.exec(text) ?? [];
    const [, apiKey] = /(sk-\w{49})/.exec(text) ?? [];
    const [, managementKey] = /(mk-\w{49})/.exec(text) ?? [];
    if (!origin || !apiKey || !managementKey) continue;
    output.resume();
    const urls = {
      origin,
      openai: `${origin}/v1`,
      sse: `${origin}/graphql/stream`,
      dashboard: `${origin}/dashboard/`,
    };
    return { urls, keys: { apiKey, managementKey } };
  }
  throw new Error(`npm start exited with this output:\n${text}`);
}

/** Sends a chat and waits for the first chunk that contains text. */
async function firstWord({ urls, keys }: Status): Promise<void> {
  const body = {
    model: "devnet-chat",
    stream: true,
    messages: [{ role: "user", content: "Tell me about the sea" }],
  };
  await readUntil(`${urls.openai}/chat/completions`, keys.apiKey, body, /"content":"[^"]/);
}

/** Subscribes, sends a chat, and waits for the resulting balance event. */
async function firstEvent(status: Status): Promise<void> {
  const query = "subscription { balanceChanged { cause balance { available } } }";
  const event = readUntil(status.urls.sse, status.keys.managementKey, { query }, /"cause":"(?:HOLD|SETTLE)/);
  await firstWord(status);
  await event;
}

async function readUntil(url: string, key: string, body: object, seen: RegExp): Promise<void> {
  const leaving = new AbortController();
  const reply = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify(body),
    signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(60_000)]),
  });
  let text = "";
  for await (const part of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (seen.test(text)) return leaving.abort();
  }
  throw new Error(`${url} answered ${reply.status}: ${text}`);
}

/** Opens the dashboard as a person does, signs in with one click, and waits for the chart. */
async function openDashboard({ urls }: Status): Promise<void> {
  const executablePath = await findChromium();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.goto(urls.dashboard);
    await page.getByRole("button", { name: "Sign in with the development wallet" }).click();
    await page.locator(".chart canvas").waitFor();
  } finally {
    await browser.close();
  }
}

function writeTable(machine: string): void {
  const total = steps.reduce((sum, { ms }) => sum + ms, 0);
  const rows = [...steps, { what: "**all of it**", ms: total }].map(
    ({ what, ms }) => `| ${what} | ${clock(ms)} |`,
  );
  const table = ["| Step | min:s |", "|---|---:|", ...rows].join("\n");
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, page.replace(TABLE, `$1${table}\n\nMeasured on ${machine}.\n$2`));
  console.log(`${clock(total).padStart(8)}  all of it, on ${machine}`);
}

function clock(ms: number): string {
  const seconds = ms / 1_000;
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
