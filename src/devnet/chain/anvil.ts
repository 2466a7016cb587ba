import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { once as madeOnce } from "../../kernel/async/once.ts";
import { StartupError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";

/** The chain id of the development network: the public testnet's, so that signatures are valid on both. */
export const DEVNET_CHAIN_ID = 16_602;

const START_TIMEOUT_MS = 60_000;
/** How often another free port is tried: between the check and anvil's start, another process may take it. */
const PORT_ATTEMPTS = 5;
const POLL_MS = 20;

/**
 * Runs anvil, and ends it when the pipe on its standard input closes: the kernel closes that pipe however our process
 * ends, even by kill -9, when nothing else could end anvil. The first line of output is anvil's process id. The script
 * does not pass its standard input to anvil, and exits with anvil's status.
 */
const SUPERVISOR = `
exec 3<&0
"$0" "$@" </dev/null 3<&- & anvil=$!
echo "$anvil"
{ while read -r _; do :; done; kill -TERM "$anvil" 2>/dev/null; sleep 5; kill -KILL "$anvil" 2>/dev/null; } <&3 >/dev/null 2>&1 & guard=$!
exec 3<&-
wait "$anvil"; status=$?
kill "$guard" 2>/dev/null
exit "$status"`;

/** A running development chain. `stop` resolves when it has ended and its state, if stored, is on disk. */
export type Anvil = {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
};

/** Options of anvil; every one has a default that suits tests. */
export type AnvilOptions = {
  /** By default a free one. */
  readonly port?: number;
  /** Where the chain's state is stored between runs, written every second; without it each start is a new chain. */
  readonly stateFile?: string;
  /** Transactions are always mined at once; with this, empty blocks follow, so that confirmations accumulate. */
  readonly blockTimeSeconds?: number;
  readonly log?: Logger;
};

/**
 * Starts anvil on 127.0.0.1 with chain id 16602 and resolves once it responds. It never outlives this process.
 *
 * Throws `StartupError` if the port is taken, if there is no anvil for this machine, or if it does not start.
 */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options);
    } catch (error) {
      const mayRetry = options.port === undefined || options.port === 0;
      if (!mayRetry || attempt === PORT_ATTEMPTS || !String(error).includes(PORT_TAKEN)) throw error;
    }
  }
}

async function startOnce(options: AnvilOptions): Promise<Anvil> {
  const port = await claimPort(options.port ?? 0);
  const folder = mkdtempSync(join(tmpdir(), "zerograph-anvil-"));
  const configFile = join(folder, "config.json");
  const words = ["-c", SUPERVISOR, findAnvil(), ...flags(port, options), "--config-out", configFile];
  const child = spawn("/bin/sh", words, {
    stdio: ["pipe", "pipe", "pipe"],
    // Its own session: Ctrl-C in a terminal must not end the chain before we have shut down.
    detached: true,
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = `${errors}${text}`.slice(-2_000);
  });
  const [firstLine] = await Promise.race([
    once(child.stdout.setEncoding("utf8"), "data"),
    once(child, "exit"),
  ]);
  child.stdout.resume();
  const url = `http://127.0.0.1:${port}`;
  await untilAnswers({ url, child, configFile, errors: () => errors }).finally(() =>
    rmSync(folder, { recursive: true, force: true }),
  );
  let stopping = false;
  child.once("exit", (status) => {
    if (!stopping) options.log?.error({ status, errors }, "the development chain ended by itself");
  });
  return {
    url,
    port,
    pid: Number(firstLine),
    async stop() {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.stdin.end();
      await gone;
    },
  };
}

function flags(port: number, { stateFile, blockTimeSeconds }: AnvilOptions): string[] {
  return [
    ...["--host", "127.0.0.1", "--port", `${port}`, "--chain-id", `${DEVNET_CHAIN_ID}`, "--silent"],
    ...(stateFile ? ["--state", stateFile, "--state-interval", "1"] : []),
    ...(blockTimeSeconds ? ["--block-time", `${blockTimeSeconds}`, "--mixed-mining"] : []),
  ];
}

/** What anvil says of a port that another process has taken. */
const PORT_TAKEN = "Address already in use";

/** Checked before the start, for an error that says so. */
async function claimPort(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new StartupError(`The development chain's port ${wanted} is taken.`, { cause });
  }
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : wanted;
}

/** The binary of the npm package for this platform, else the one on PATH. Throws `StartupError` if there is none. */
export const findAnvil = madeOnce((): string => {
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  const candidates = [packagedAnvil(name), "anvil"].filter((path) => path !== undefined);
  const found = candidates.find((path) => spawnSync(path, ["--version"]).status === 0);
  if (found) return found;
  throw new StartupError(
    `There is no anvil for ${process.platform}-${process.arch}: run 'npm ci' without --omit=dev (on Linux), install Foundry so that 'anvil' is on PATH, or set RPC_URL to a chain that has the network's contracts.`,
  );
});

function packagedAnvil(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/anvil`);
  } catch {
    return undefined;
  }
}

type Starting = {
  readonly url: string;
  readonly child: ChildProcess;
  /** Anvil writes it once it listens. Until then, what answers at the port may be another server. */
  readonly configFile: string;
  errors(): string;
};

async function untilAnswers({ url, child, configFile, errors }: Starting): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null) {
    if (existsSync(configFile) && (await answers(url))) return;
    if (Date.now() > deadline) break;
    await sleep(POLL_MS);
  }
  child.stdin?.end();
  throw new StartupError(`The development chain did not start: ${errors().trim() || "no answer"}.`);
}

async function answers(url: string): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
