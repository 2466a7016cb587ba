import type { JwtFile } from "./jwt-secret.ts";
import type { Observation, OtherMachine } from "./observation.ts";
import type { NotRead } from "./part-state.ts";

/** The rules of operating a node (SPEC 4.5 and 8), in the order of the checks. */
const PREFLIGHT_RULES = [
  "initialised_once",
  "same_chain",
  "same_jwt_secret",
  "execution_before_consensus",
  "not_while_syncing",
  "near_the_head",
  "validator_state",
  "no_double_signing",
  "p2p_ports",
  "ethereum_rpc",
  "disk",
  "memory",
  "processors",
] as const;
export type PreflightRule = (typeof PREFLIGHT_RULES)[number];

/** `unknown`: not configured, or not detectable from here; `next` describes how to find out. */
export type Verdict = "pass" | "fail" | "unknown";

/** The result of one rule. */
export type PreflightCheck = {
  readonly rule: PreflightRule;
  readonly verdict: Verdict;
  /** The finding, in a sentence. */
  readonly detail: string;
  /** What to do next; undefined if nothing. */
  readonly next: string | undefined;
};

type Judged = Omit<PreflightCheck, "rule">;

const NEAR_BLOCKS = 5n;
const ETHEREUM_MAINNET = 1;
/** SPEC 8. A disk or memory of the nominal size reports slightly less. */
const DISK_BYTES = 4e12;
const MEMORY_BYTES = 64e9;
const PROCESSORS = 8;
const TOLERANCE = 0.95;

/** Judges every rule by the observation. Pure. `chainId` is the served network's. */
export function preflight(found: Observation, chainId: number): readonly PreflightCheck[] {
  const judge: Readonly<Record<PreflightRule, () => Judged>> = {
    initialised_once: () => judgeInitialised(found),
    same_chain: () => judgeChain(found, chainId),
    same_jwt_secret: () => judgeSecret(found),
    execution_before_consensus: () => judgeOrder(found),
    not_while_syncing: () => judgeSyncing(found),
    near_the_head: () => judgeHead(found),
    validator_state: () => judgeValidatorState(found),
    no_double_signing: () => judgeDoubleSigning(found),
    p2p_ports: () => judgePorts(found),
    ethereum_rpc: () => judgeEthereum(found),
    disk: () => atLeast(found.machine?.diskBytes, DISK_BYTES, toTb, "disk"),
    memory: () => atLeast(found.machine?.memoryBytes, MEMORY_BYTES, toGb, "memory"),
    processors: () => atLeast(found.machine?.cpus, PROCESSORS, String, "processors"),
  };
  return PREFLIGHT_RULES.map((rule) => ({ rule, ...judge[rule]() }));
}

function judgeInitialised({ consensusInitialised, executionData }: Observation): Judged {
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

function judgeChain({ execution }: Observation, chainId: number): Judged {
  if (execution.state !== "answering") return notRead(execution);
  if (execution.chainId === chainId) return pass(`The execution client is on chain ${chainId}.`);
  return fail(
    `The execution client is on chain ${execution.chainId}, but the network is ${chainId}.`,
    "Check NETWORK, and that the execution client was initialised from this network's genesis file.",
  );
}

function judgeSecret({ consensusJwt, executionJwt, engine }: Observation): Judged {
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
): Judged {
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

function judgeOrder({ engine, consensus }: Observation): Judged {
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

function judgeSyncing({ execution, consensus }: Observation): Judged {
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

function judgeHead({ execution, consensus, publicBlock }: Observation): Judged {
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

function judgeValidatorState({ validatorState }: Observation): Judged {
  const file = "data/priv_validator_state.json";
  switch (validatorState) {
    case "unset":
      return unknown("The consensus client's home is not set.", "Set NODE_CONSENSUS_HOME.");
    case "missing":
      return fail(
        `${file} is missing, and the consensus client does not start without it.`,
        `Create it with an empty JSON object: {}. If this key has ever signed elsewhere, copy that machine's file instead.`,
      );
    case "malformed":
      return fail(
        `${file} is not a JSON object.`,
        "Restore it from a backup; it records what the key has already signed.",
      );
    case "present":
      return pass(`${file} exists.`);
  }
}

function judgeDoubleSigning({ others, validatorAddress }: Observation): Judged {
  if (validatorAddress === undefined)
    return unknown("No validator key was found.", "Set NODE_CONSENSUS_HOME if this node has one.");
  if (others.length === 0)
    return unknown(
      "This node cannot detect whether another machine signs with this key.",
      "Set NODE_OTHER_CONSENSUS_URLS to the machines that have, or had, this key; stop the old process before starting here.",
    );
  const twins = others.filter((other) => other.validatorAddress === validatorAddress || other.ourKeySigns);
  if (twins.length > 0)
    return fail(
      `The validator key is in use elsewhere: ${hostsOf(twins)}.`,
      "Fully stop the consensus client there before running it here, or the validator is slashed for double signing.",
    );
  const unreachable = others.filter(({ state }) => state !== "answering");
  if (unreachable.length > 0)
    return unknown(`No answer from ${hostsOf(unreachable)}.`, "Check manually that nothing runs there.");
  return pass("None of the other machines signs with this key.");
}

function hostsOf(machines: readonly OtherMachine[]): string {
  return machines.map(({ host }) => host).join(", ");
}

function judgePorts({ ports, consensus, execution }: Observation): Judged {
  if (ports.some(({ isOpen }) => isOpen === undefined))
    return unknown(
      "The node's public address is not set.",
      "Set NODE_PUBLIC_ADDRESS to the host of the consensus client's external address.",
    );
  const closed = ports.filter(({ isOpen }) => !isOpen);
  if (closed.length === 0) return pass(`Open: ${ports.map(({ port }) => port).join(" and ")}.`);
  const finding = `Closed: ${closed.map(({ name, port }) => `${port} (${name})`).join(", ")}.`;
  if (consensus.state !== "answering" || execution.state !== "answering")
    return unknown(finding, "Check again when both clients run.");
  return fail(finding, "Open the port in the firewall and forward it to this machine.");
}

function judgeEthereum({ ethChainId }: Observation): Judged {
  if (ethChainId === undefined)
    return unknown("The Ethereum RPC for restaking is not set.", "Set NODE_ETH_RPC_URL.");
  if (ethChainId === "unreachable")
    return fail(
      "The Ethereum RPC does not answer.",
      "The consensus client needs a working Ethereum RPC, for the state of restaking contracts.",
    );
  if (ethChainId === ETHEREUM_MAINNET) return pass("The Ethereum RPC serves the Ethereum mainnet.");
  return fail(
    `The Ethereum RPC serves chain ${ethChainId}, not the Ethereum mainnet.`,
    "Use an RPC of the Ethereum mainnet.",
  );
}

function notRead({ state, detail }: NotRead): Judged {
  const next =
    state === "unset" ? "Set NODE_EXECUTION_URL." : "Start the execution client, or check its port 8545.";
  return unknown(detail, next);
}

function atLeast(
  found: number | undefined,
  required: number,
  toText: (size: number) => string,
  what: string,
): Judged {
  if (found === undefined)
    return unknown("The node does not run on this machine.", "Run npm run node:doctor on its machine.");
  const finding = `${toText(found)} of ${toText(required)} ${what}.`;
  return found >= required * TOLERANCE ? pass(finding) : fail(finding, `Use a machine with more ${what}.`);
}

function toTb(bytes: number): string {
  return `${(bytes / 1e12).toFixed(1)} TB`;
}

function toGb(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

function pass(detail: string): Judged {
  return { verdict: "pass", detail, next: undefined };
}

function fail(detail: string, next: string): Judged {
  return { verdict: "fail", detail, next };
}

function unknown(detail: string, next: string): Judged {
  return { verdict: "unknown", detail, next };
}
