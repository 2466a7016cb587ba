import { NETWORKS } from "../../src/chain/networks.ts";
import { EXECUTION_CLIENTS, type ExecutionClientName } from "../../src/chain/node/execution.client.ts";
import { NodeService } from "../../src/chain/node/node.service.ts";
import { nodeSettings } from "../../src/chain/node/node-settings.ts";
import type { PreflightCheck } from "../../src/chain/node/preflight.ts";
import type { SwitchStep } from "../../src/chain/node/switch-plan.ts";
import { BadExport, trimExport } from "../../src/chain/node/trim-export.ts";
import { readPartialConfig } from "../../src/config.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { AppError, StartupError } from "../../src/kernel/errors.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run node:doctor`: how the operator's own node stands and whether it keeps the rules of SPEC 4.5; exits 1 when one
 * is broken. `-- --message "..."` explains a message, `-- --switch geth reth` lists the steps of a switch; `--json` gives
 * each as data. All of it only reads; `-- --trim 1 chain.rlp trimmed.rlp` writes a chain's export anew from a block on. Where nothing is configured, the node is this machine's, on its usual ports.
 */
const USAGE =
  'npm run node:doctor [-- [--json] [--message "..." | --switch geth reth | --trim BLOCK EXPORT NEW_FILE]]';
const MARKS = { pass: "ok  ", fail: "FAIL", unknown: "?   " } as const;

await runOrExplain(async () => {
  const words = process.argv.slice(2);
  const asJson = words.includes("--json");
  const [what, ...given] = words.filter((word) => word !== "--json");
  const config = readPartialConfig();
  const network = NETWORKS[config.NETWORK];
  const settings = nodeSettings(config, network.rpcUrls);
  const node = new NodeService({
    // Undefined settings are those of this machine, on the ports of SPEC 4.5.
    settings: {
      ...settings,
      consensusUrl: settings.consensusUrl ?? "http://127.0.0.1:26657",
      executionUrl: settings.executionUrl ?? "http://127.0.0.1:8545",
      engineUrl: settings.engineUrl ?? "http://127.0.0.1:8551",
    },
    chainId: network.chainId,
    clock: systemClock,
  });
  const say = (data: unknown, text: () => string) => console.log(asJson ? toJson(data) : text());
  if (what === undefined) process.exitCode = await examine(node, say);
  else if (what === "--message" && given.length === 1) explain(node, given[0] ?? "", say);
  else if (what === "--switch" && given.length === 2) plan(node, given, say);
  else if (what === "--trim" && given.length === 3) await trim(given, say);
  else throw new StartupError(USAGE);
});

type Say = (data: unknown, text: () => string) => void;

async function examine(node: NodeService, say: Say): Promise<0 | 1> {
  const [consensus, execution, engine, preflight] = await Promise.all([
    node.consensus(),
    node.execution(),
    node.engine(),
    node.preflight(),
  ]);
  say({ consensus, execution, engine, preflight }, () => {
    const stands = [
      consensus.state === "answering"
        ? `consensus: block ${consensus.latestHeight}, ${consensus.catchingUp ? "catching up" : "synced"}`
        : `consensus: ${consensus.detail}`,
      execution.state === "answering"
        ? `execution: block ${execution.blockNumber}, ${execution.syncing ? "syncing" : "not syncing"}, ${execution.clientVersion}`
        : `execution: ${execution.detail}`,
      `engine: ${engine.detail}`,
    ];
    return [...stands, "", ...preflight.flatMap(toLines)].join("\n");
  });
  return preflight.some(({ verdict }) => verdict === "fail") ? 1 : 0;
}

function explain(node: NodeService, message: string, say: Say): void {
  const found = orExplain(() => node.diagnose(message));
  if (!found) throw new StartupError("This message is not known. Known are those of SPEC section 7.");
  say(found, () =>
    [
      found.cause,
      ...found.next.map((step, index) => `  ${index + 1}. ${step}`),
      ...found.never.map((warning) => `  ! ${warning}`),
    ].join("\n"),
  );
}

function plan(node: NodeService, given: readonly string[], say: Say): void {
  const [from, to] = given.map(clientOf);
  if (!from || !to) throw new StartupError(USAGE);
  const found = orExplain(() => node.switchPlan(from, to));
  say(found, () =>
    [
      ...found.notes.map((note) => `- ${note}`),
      "",
      ...found.steps.flatMap(toStepLines),
      "",
      "The way back:",
      ...found.rollback.flatMap(toStepLines),
    ].join("\n"),
  );
}

/** Writes a chain's export anew, beginning with a block. */
async function trim([block = "", path = "", to = ""]: readonly string[], say: Say): Promise<void> {
  if (!/^\d{1,18}$/.test(block)) throw new StartupError(USAGE);
  try {
    const trimmed = await trimExport(path, BigInt(block), to);
    say(
      trimmed,
      () => `${to} begins with block ${trimmed.from}: ${trimmed.skippedBlocks} blocks were left out.`,
    );
  } catch (error) {
    if (error instanceof BadExport || (error instanceof Error && "syscall" in error))
      throw new StartupError(error.message, { cause: error });
    throw error;
  }
}

function clientOf(word: string): ExecutionClientName | undefined {
  return EXECUTION_CLIENTS.find((name) => name === word);
}

function orExplain<T>(ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    if (error instanceof AppError) throw new StartupError(error.message, { cause: error });
    throw error;
  }
}

function toLines({ rule, verdict, detail, next }: PreflightCheck): readonly string[] {
  const line = `${MARKS[verdict]} ${rule.replaceAll("_", " ")}: ${detail}`;
  return next === undefined ? [line] : [line, `       ${next}`];
}

function toStepLines({ order, title, why, command, checks, isDestructive }: SwitchStep): readonly string[] {
  return [
    `${order}. ${title}${isDestructive ? " (only a backup brings it back)" : ""}`,
    `   ${why}`,
    ...(command === undefined ? [] : [`   $ ${command}`]),
    ...checks.map(({ subject, expected }) => `   [ ] ${subject}: ${expected}`),
  ];
}

function toJson(data: unknown): string {
  return JSON.stringify(
    data,
    (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value),
    2,
  );
}
