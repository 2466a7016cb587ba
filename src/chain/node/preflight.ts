import {
  judgeChain,
  judgeHead,
  judgeInitialised,
  judgeOrder,
  judgeSecret,
  judgeSyncing,
} from "./client-rules.ts";
import { fail, type Judgement, pass, unknown } from "./judgement.ts";
import type { Observation, OtherMachine } from "./observation.ts";

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

/** The result of one rule. */
export type PreflightCheck = Judgement & { readonly rule: PreflightRule };

const ETHEREUM_MAINNET = 1;
/** SPEC 8. A disk or memory of the nominal size reports slightly less. */
const DISK_BYTES = 4e12;
const MEMORY_BYTES = 64e9;
const PROCESSORS = 8;
const TOLERANCE = 0.95;

/** Judges every rule by the observation. Pure. `chainId` is the served network's. */
export function preflight(found: Observation, chainId: number): readonly PreflightCheck[] {
  const judge: Readonly<Record<PreflightRule, () => Judgement>> = {
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

function judgeValidatorState({ validatorState }: Observation): Judgement {
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

function judgeDoubleSigning({ others, validatorAddress }: Observation): Judgement {
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

function judgePorts({ ports, consensus, execution }: Observation): Judgement {
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

function judgeEthereum({ ethChainId }: Observation): Judgement {
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

function atLeast(
  found: number | undefined,
  required: number,
  toText: (size: number) => string,
  what: string,
): Judgement {
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
