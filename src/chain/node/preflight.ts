import type { JwtFile } from "./jwt-secret.ts";
import type { Observation, OtherMachine } from "./observation.ts";
import type { NotRead } from "./part-state.ts";

/** The rules of operating a node (SPEC 4.5 and 8), in the order in which they are looked at. */
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

/** `unknown`: it is not configured, or cannot be found out from here; `next` says how it can. */
export type Verdict = "pass" | "fail" | "unknown";

/** How a rule fares. */
export type PreflightCheck = {
  readonly rule: PreflightRule;
  readonly verdict: Verdict;
  /** What was found, in a sentence. */
  readonly detail: string;
  /** What to do next; undefined when there is nothing to do. */
  readonly next: string | undefined;
};

type Judged = Omit<PreflightCheck, "rule">;

const NEAR_BLOCKS = 5n;
const ETHEREUM_MAINNET = 1;
/** SPEC 8. A disk or memory of that size shows a little less of itself. */
const DISK_BYTES = 4e12;
const MEMORY_BYTES = 64e9;
const PROCESSORS = 8;
const TOLERANCE = 0.95;

/** Judges every rule by what was found. Pure. `chainId` is that of the network that we serve. */
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
    return unknown("The node's folders are not known.", "Set NODE_CONSENSUS_HOME and NODE_EXECUTION_DATA.");
  const missing = [
    ...(consensusInitialised ? [] : ["the consensus client"]),
    ...(executionData === "none" ? ["the execution client"] : []),
  ];
  if (missing.length === 2) return fail("The node is not initialised.", "Initialise both clients, once.");
  if (missing.length === 1)
    return fail(
      `Of the two clients, ${missing[0]} is not initialised.`,
      `Initialise ${missing[0]} alone, once.`,
    );
  return pass(
    `Initialised, with a database of ${executionData}. Never initialise again: it overwrites state.`,
  );
}

function judgeChain({ execution }: Observation, chainId: number): Judged {
  if (execution.state !== "answering") return notRead(execution);
  if (execution.chainId === chainId) return pass(`The execution client is of chain ${chainId}.`);
  return fail(
    `The execution client is of chain ${execution.chainId}, and the network is ${chainId}.`,
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
  // Before all else: an engine API that asks for no secret is open to everyone who reaches it, whatever the files hold.
  if (engine.state === "answering" && !engine.refusesOthers)
    return fail(
      "The engine API takes calls without a secret.",
      "Start the execution client with its JWT secret file.",
    );
  const isTaken = engine.state === "answering" ? engine.takesSecret : undefined;
  if (consensusJwt.state === "read" && executionJwt.state === "read") {
    if (consensusJwt.fingerprint !== executionJwt.fingerprint)
      return fail(
        "The two clients have different secrets.",
        "Give both clients the same file, and restart them.",
      );
    if (isTaken !== false) return passSecret(consensusJwt, executionJwt);
  }
  if (isTaken === false)
    return fail(
      "The engine API refuses the consensus client's secret.",
      "Restart the execution client with the same file; compare the clocks, which may differ by 60 s.",
    );
  if (isTaken) return pass("The engine API takes the secret.");
  return unknown(
    "The secret files are not known.",
    "Set NODE_CONSENSUS_JWT_FILE and NODE_EXECUTION_JWT_FILE, and NODE_ENGINE_URL.",
  );
}

function passSecret(
  first: Extract<JwtFile, { state: "read" }>,
  second: Extract<JwtFile, { state: "read" }>,
): Judged {
  const place =
    first.place === second.place
      ? "Both clients have the same file."
      : "The clients have two copies of one secret: changing one of them would part them.";
  if (!first.isOpen && !second.isOpen) return pass(place);
  return {
    ...pass(`${place} Others than its owner may read it.`),
    next: "Take the others' right to read it.",
  };
}

function faultsOf(file: JwtFile, setting: string): readonly string[] {
  return file.state === "missing" || file.state === "malformed" ? [`${setting}: ${file.detail}`] : [];
}

function judgeOrder({ engine, consensus }: Observation): Judged {
  const runs = consensus.state === "answering";
  if (engine.state === "unset")
    return unknown(engine.detail, "Set NODE_ENGINE_URL, port 8551 unless changed.");
  if (engine.state === "answering")
    return pass(
      runs
        ? "The engine API listens, and the consensus client runs."
        : "The engine API listens: the consensus client may be started next, unless another rule says no.",
    );
  if (!runs)
    return fail(
      engine.detail,
      "Start the execution client first, and the consensus client when the engine API listens on port 8551.",
    );
  return fail(
    `The consensus client runs without the engine API. ${engine.detail}`,
    "Stop the consensus client, start the execution client, see that port 8551 listens, then start the consensus client.",
  );
}

function judgeSyncing({ execution, consensus }: Observation): Judged {
  if (execution.state !== "answering") return notRead(execution);
  if (!execution.syncing) return pass("The execution client is not syncing.");
  const { currentBlock, highestBlock } = execution;
  const far =
    currentBlock !== undefined && highestBlock !== undefined
      ? ` (block ${currentBlock} of ${highestBlock})`
      : "";
  const why = "else it ends in -38002 Invalid forkchoice state";
  return consensus.state === "answering"
    ? fail(
        `The execution client is still syncing${far}, and the consensus client runs.`,
        `Stop the consensus client, wait for the head, then start it: ${why}.`,
      )
    : fail(
        `The execution client is still syncing${far}.`,
        `Do not start the consensus client before the head is reached: ${why}.`,
      );
}

function judgeHead({ execution, consensus, publicBlock }: Observation): Judged {
  if (execution.state !== "answering") return notRead(execution);
  if (publicBlock === undefined)
    return unknown("No public RPC answers.", "Set NODE_PUBLIC_RPC_URL to compare the heights.");
  const behind = publicBlock > execution.blockNumber ? publicBlock - execution.blockNumber : 0n;
  const heights = `Block ${execution.blockNumber}, and ${publicBlock} at the public RPC`;
  if (behind <= NEAR_BLOCKS) return pass(`${heights}.`);
  if (consensus.state === "answering")
    return fail(`${heights}: ${behind} behind.`, "Wait for the consensus client to catch up.");
  return unknown(
    `${heights}: ${behind} behind.`,
    "After a halt that is natural. After an import it is not complete: do not start the consensus client.",
  );
}

function judgeValidatorState({ validatorState }: Observation): Judged {
  const file = "data/priv_validator_state.json";
  switch (validatorState) {
    case "unset":
      return unknown("The consensus client's home is not known.", "Set NODE_CONSENSUS_HOME.");
    case "missing":
      return fail(
        `${file} is missing, and the consensus client does not start without it.`,
        `Create it with an empty JSON object: {}. If this key has ever signed elsewhere, copy that machine's file instead.`,
      );
    case "malformed":
      return fail(
        `${file} is not a JSON object.`,
        "Restore it from a backup; it says what the key has signed already.",
      );
    case "present":
      return pass(`${file} is there.`);
  }
}

function judgeDoubleSigning({ others, validatorAddress }: Observation): Judged {
  if (validatorAddress === undefined)
    return unknown("There is no validator key to be seen.", "Set NODE_CONSENSUS_HOME, if this node has one.");
  if (others.length === 0)
    return unknown(
      "Whether another machine signs with this key cannot be seen from here.",
      "Set NODE_OTHER_CONSENSUS_URLS to the machines that have, or had, this key; stop the old process before you start here.",
    );
  const twins = others.filter((other) => other.validatorAddress === validatorAddress || other.ourKeySigns);
  if (twins.length > 0)
    return fail(
      `The validator key is in use elsewhere: ${hostsOf(twins)}.`,
      "Stop the consensus client there fully before it runs here, or the validator is punished for double signing.",
    );
  const silent = others.filter(({ state }) => state !== "answering");
  if (silent.length > 0)
    return unknown(`No answer from ${hostsOf(silent)}.`, "See for yourself that nothing runs there.");
  return pass("None of the other machines signs with this key.");
}

function hostsOf(machines: readonly OtherMachine[]): string {
  return machines.map(({ host }) => host).join(", ");
}

function judgePorts({ ports, consensus, execution }: Observation): Judged {
  if (ports.some(({ isOpen }) => isOpen === undefined))
    return unknown(
      "The address at which the world reaches the node is not known.",
      "Set NODE_PUBLIC_ADDRESS, the same as in the consensus client's external address.",
    );
  const closed = ports.filter(({ isOpen }) => !isOpen);
  if (closed.length === 0) return pass(`Open: ${ports.map(({ port }) => port).join(" and ")}.`);
  const said = `Closed: ${closed.map(({ name, port }) => `${port} (${name})`).join(", ")}.`;
  if (consensus.state !== "answering" || execution.state !== "answering")
    return unknown(said, "Look again when both clients run.");
  return fail(said, "Open the port in the firewall and forward it to this machine.");
}

function judgeEthereum({ ethChainId }: Observation): Judged {
  if (ethChainId === undefined)
    return unknown("The Ethereum RPC for restaking is not known.", "Set NODE_ETH_RPC_URL.");
  if (ethChainId === "unreachable")
    return fail(
      "The Ethereum RPC does not answer.",
      "The consensus client needs one that does, for the state of restaking contracts.",
    );
  if (ethChainId === ETHEREUM_MAINNET) return pass("It is of the Ethereum mainnet.");
  return fail(
    `The Ethereum RPC is of chain ${ethChainId}, not of the mainnet.`,
    "Use one of the Ethereum mainnet.",
  );
}

function notRead({ state, detail }: NotRead): Judged {
  const next =
    state === "unset" ? "Set NODE_EXECUTION_URL." : "Start the execution client, or look at its port 8545.";
  return unknown(detail, next);
}

function atLeast(
  found: number | undefined,
  wanted: number,
  toText: (size: number) => string,
  what: string,
): Judged {
  if (found === undefined)
    return unknown("The node's machine is not this one.", "Run npm run node:doctor there.");
  const said = `${toText(found)} of ${toText(wanted)} ${what}.`;
  return found >= wanted * TOLERANCE ? pass(said) : fail(said, "Use a machine with more.");
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
