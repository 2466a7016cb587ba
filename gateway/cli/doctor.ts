import { NETWORKS } from "../../src/chain/networks.ts";
import { EXECUTION_CLIENTS, type ExecutionClientName } from "../../src/chain/node/execution.client.ts";
import { NodeService } from "../../src/chain/node/node.service.ts";
import { nodeSettings } from "../../src/chain/node/node-settings.ts";
import type { PreflightCheck } from "../../src/chain/node/preflight.ts";
import type { SwitchStep } from "../../src/chain/node/switch-step.ts";
import { BadExport, trimExport } from "../../src/chain/node/trim-export.ts";
import { readPartialConfig } from "../../src/config.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { AppError, StartupError } from "../../src/kernel/errors.ts";
import { runOrExplain } from "./run-or-explain.ts";

/**
 * `npm run node:doctor`: reports the state of the operator's own node and whether it complies with SPEC 4.5; exits 1
 * when a rule is broken. `-- --message "..."` explains a message, `-- --switch geth reth` lists the steps of a
 * client switch, and `--json` prints either as data. These only read. `-- --trim 1 chain.rlp trimmed.rlp` rewrites a
 * chain export so that it starts at a block. Without configuration the node is on this machine, at its default
 * ports.
 */
const USAGE =
  'npm run node:doctor [-- [--json] [--message "..." | --switch geth reth | --trim BLOCK EXPORT NEW_FILE]]';
const MARKS = { pass: "ok  ", fail: "FAIL", unknown: "?   " } as const;

await runOrExplain(async () => {
  const words = process.argv.slice(2);
  if (words.some((word) => word === "--help" || word === "-h")) {
    console.log(USAGE);
    return;
  }
  const asJson = words.includes("--json");
  const [what, ...given] = words.filter((word) => word !== "--json");
  const config = readPartialConfig();
  const network = NETWORKS[config.NETWORK];
  const settings = nodeSettings(config, network.rpcUrls);
  const node = new NodeService({
    // Undefined settings default to this machine, on the ports of SPEC 4.5.
    settings: {
      ...settings,
      consensusUrl: settings.consensusUrl ?? "http://127.0.0.1:26657",
      executionUrl: settings.executionUrl ?? "http://127.0.0.1:8545",
      engineUrl: settings.engineUrl ?? "http://127.0.0.1:8551",
    },
    chainId: network.chainId,
    clock: systemClock,
  });
  const print = (data: unknown, text: () => string) => console.log(asJson ? toJson(data) : text());
  if (what === undefined) process.exitCode = await examine(node, print);
  else if (what === "--message" && given.length === 1) explain(node, given[0] ?? "", print);
  else if (what === "--switch" && given.length === 2) plan(node, given, print);
  else if (what === "--trim" && given.length === 3) await trim(given, print);
  else throw new StartupError(USAGE);
});

type Print = (data: unknown, text: () => string) => void;

async function examine(node: NodeService, print: Print): Promise<0 | 1> {
  const [consensus, execution, engine, preflight] = await Promise.all([
    node.consensus(),
    node.execution(),
    node.engine(),
    node.preflight(),
  ]);
  print({ consensus, execution, engine, preflight }, () => {
    const states = [
      consensus.state === "answering"
        ? `consensus: block ${consensus.latestHeight}, ${consensus.catchingUp ? "catching up" : "synced"}`
        : `consensus: ${consensus.detail}`,
      execution.state === "answering"
        ? `execution: block ${execution.blockNumber}, ${execution.syncing ? "syncing" : "not syncing"}, ${execution.clientVersion}`
        : `execution: ${execution.detail}`,
      `engine: ${engine.detail}`,
    ];
    return [...states, "", ...preflight.flatMap(toLines)].join("\n");
  });
  return preflight.some(({ verdict }) => verdict === "fail") ? 1 : 0;
}

function explain(node: NodeService, message: string, print: Print): void {
  const found = orExplain(() => node.diagnose(message));
  if (!found) throw new StartupError("Unknown message. The known messages are listed in SPEC section 7.");
  print(found, () =>
    [
      found.cause,
      ...found.next.map((step, index) => `  ${index + 1}. ${step}`),
      ...found.never.map((warning) => `  ! ${warning}`),
    ].join("\n"),
  );
}

function plan(node: NodeService, given: readonly string[], print: Print): void {
  const [from, to] = given.map(clientOf);
  if (!from || !to) throw new StartupError(USAGE);
  const found = orExplain(() => node.switchPlan(from, to));
  print(found, () =>
    [
      ...found.notes.map((note) => `- ${note}`),
      "",
      ...found.steps.flatMap(toStepLines),
      "",
      "Rollback:",
      ...found.rollback.flatMap(toStepLines),
    ].join("\n"),
  );
}

/** Writes a copy of a chain export that starts at the given block. */
async function trim([block = "", path = "", to = ""]: readonly string[], print: Print): Promise<void> {
  if (!/^\d{1,18}$/.test(block)) throw new StartupError(USAGE);
  try {
    const trimmed = await trimExport(path, BigInt(block), to);
    print(
      trimmed,
      () => `${to} begins with block ${trimmed.from}: ${trimmed.skippedBlocks} blocks were skipped.`,
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

function orExplain<T>(run: () => T): T {
  try {
    return run();
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
    `${order}. ${title}${isDestructive ? " (only a backup can undo this)" : ""}`,
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
