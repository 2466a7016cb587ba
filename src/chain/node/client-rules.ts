import { fail, type Judgement, pass, unknown } from "./judgement.ts";
import type { JwtFile } from "./jwt-secret.ts";
import type { Observation } from "./observation.ts";
import type { NotRead } from "./part-state.ts";

const NEAR_BLOCKS = 5n;

/** Whether both clients are initialised. */
export function judgeInitialised({ consensusInitialised, executionData }: Observation): Judgement {
  if (consensusInitialised === undefined || executionData === undefined)
    return unknown("The node's folders are not set.", "Set NODE_CONSENSUS_HOME and NODE_EXECUTION_DATA.");
  const missing = [
    ...(consensusInitialised ? [] : ["the consensus client"]),
    ...(executionData === "none" ? ["the execution client"] : []),
  ];
  if (missing.length === 2) return fail("The node is not initialised.", "Initialise both clients once.");
  if (missing.length === 1)
    return fail(
      `Of the two clients, ${missing[0]} is not initialised.`,
      `Initialise only ${missing[0]}, once.`,
    );
  return pass(`Initialised, with a ${executionData} database. Never initialise again: it overwrites state.`);
}

/** Whether the execution client is on the served network's chain. */
export function judgeChain({ execution }: Observation, chainId: number): Judgement {
  if (execution.state !== "answering") return notRead(execution);
  if (execution.chainId === chainId) return pass(`The execution client is on chain ${chainId}.`);
  return fail(
    `The execution client is on chain ${execution.chainId}, but the network is ${chainId}.`,
    "Check NETWORK, and that the execution client was initialised from this network's genesis file.",
  );
}

/** Whether both clients have the same JWT secret, and the engine API requires it. */
export function judgeSecret({ consensusJwt, executionJwt, engine }: Observation): Judgement {
  const faults = [
    ...faultsOf(consensusJwt, "NODE_CONSENSUS_JWT_FILE"),
    ...faultsOf(executionJwt, "NODE_EXECUTION_JWT_FILE"),
  ];
  if (faults.length > 0)
    return fail(faults.join(" "), "Give both clients the same file: 32 bytes as 64 hexadecimal digits.");
  // Checked first: an engine API without a secret is open to everyone who can reach it, whatever the files contain.
  if (engine.state === "answering" && !engine.refusesOthers)
    return fail(
      "The engine API accepts calls without a secret.",
      "Start the execution client with its JWT secret file.",
    );
  const isAccepted = engine.state === "answering" ? engine.takesSecret : undefined;
  if (consensusJwt.state === "read" && executionJwt.state === "read") {
    if (consensusJwt.fingerprint !== executionJwt.fingerprint)
      return fail(
        "The two clients have different secrets.",
        "Give both clients the same file, and restart them.",
      );
    if (isAccepted !== false) return passSecret(consensusJwt, executionJwt);
  }
  if (isAccepted === false)
    return fail(
      "The engine API rejects the consensus client's secret.",
      "Restart the execution client with the same file; compare the clocks, which may differ by 60 s.",
    );
  if (isAccepted) return pass("The engine API accepts the secret.");
  return unknown(
    "The secret files are not set.",
    "Set NODE_CONSENSUS_JWT_FILE and NODE_EXECUTION_JWT_FILE, and NODE_ENGINE_URL.",
  );
}

function passSecret(
  first: Extract<JwtFile, { state: "read" }>,
  second: Extract<JwtFile, { state: "read" }>,
): Judgement {
  const place =
    first.place === second.place
      ? "Both clients use the same file."
      : "The clients use two copies of one secret: changing only one of them would disconnect the clients.";
  if (!first.isOpen && !second.isOpen) return pass(place);
  return {
    ...pass(`${place} Users other than the owner may read it.`),
    next: "Restrict read access to the owner.",
  };
}

function faultsOf(file: JwtFile, setting: string): readonly string[] {
  return file.state === "missing" || file.state === "malformed" ? [`${setting}: ${file.detail}`] : [];
}

/** Whether the engine API listens before the consensus client runs. */
export function judgeOrder({ engine, consensus }: Observation): Judgement {
  const isRunning = consensus.state === "answering";
  if (engine.state === "unset")
    return unknown(engine.detail, "Set NODE_ENGINE_URL; the default port is 8551.");
  if (engine.state === "answering")
    return pass(
      isRunning
        ? "The engine API listens, and the consensus client runs."
        : "The engine API listens: start the consensus client next, unless another rule fails.",
    );
  if (!isRunning)
    return fail(
      engine.detail,
      "Start the execution client first, then the consensus client once the engine API listens on port 8551.",
    );
  return fail(
    `The consensus client runs without the engine API. ${engine.detail}`,
    "Stop the consensus client, start the execution client, check that port 8551 listens, then start the consensus client.",
  );
}

/** Whether the execution client has synced before the consensus client runs. */
export function judgeSyncing({ execution, consensus }: Observation): Judgement {
  if (execution.state !== "answering") return notRead(execution);
  if (!execution.syncing) return pass("The execution client is not syncing.");
  const { currentBlock, highestBlock } = execution;
  const progress =
    currentBlock !== undefined && highestBlock !== undefined
      ? ` (block ${currentBlock} of ${highestBlock})`
      : "";
  const why = "otherwise it fails with -38002 Invalid forkchoice state";
  return consensus.state === "answering"
    ? fail(
        `The execution client is still syncing${progress}, and the consensus client runs.`,
        `Stop the consensus client, wait for the head, then start it: ${why}.`,
      )
    : fail(
        `The execution client is still syncing${progress}.`,
        `Do not start the consensus client before the execution client reaches the head: ${why}.`,
      );
}

/** Whether the execution client is within a few blocks of a public RPC. */
export function judgeHead({ execution, consensus, publicBlock }: Observation): Judgement {
  if (execution.state !== "answering") return notRead(execution);
  if (publicBlock === undefined)
    return unknown("No public RPC answers.", "Set NODE_PUBLIC_RPC_URL to compare heights.");
  const behind = publicBlock > execution.blockNumber ? publicBlock - execution.blockNumber : 0n;
  const heights = `Block ${execution.blockNumber}, and ${publicBlock} at the public RPC`;
  if (behind <= NEAR_BLOCKS) return pass(`${heights}.`);
  if (consensus.state === "answering")
    return fail(`${heights}: ${behind} behind.`, "Wait for the consensus client to catch up.");
  return unknown(
    `${heights}: ${behind} behind.`,
    "After a halt this is expected. After an import the import is incomplete: do not start the consensus client.",
  );
}

function notRead({ state, detail }: NotRead): Judgement {
  const next =
    state === "unset" ? "Set NODE_EXECUTION_URL." : "Start the execution client, or check its port 8545.";
  return unknown(detail, next);
}
