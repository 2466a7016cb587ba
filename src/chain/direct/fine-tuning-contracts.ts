import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Network } from "../networks.ts";

/** The versions of the fine-tuning contract (SPEC 9.3). */
export type FineTuningVersion = "v1.1" | "v1.0";

/** A deployed version of the fine-tuning contract, and the period of its history. */
export type FineTuningContract = {
  readonly version: FineTuningVersion;
  readonly address: Hex;
  /** Whether new tasks use this contract. */
  readonly isCurrent: boolean;
  /** The start of its history, null for unbounded. */
  readonly since: Date | null;
  /** The end of its history (exclusive), null for unbounded. */
  readonly until: Date | null;
};

/** Selects a contract by version or by a time in its history; by default the current contract. */
export type FineTuningChoice = {
  readonly version?: FineTuningVersion | undefined;
  readonly at?: Date | undefined;
};

/** On networks with two contracts, history before this day is in the old one (SPEC 9.3). */
const SPLIT = new Date("2026-02-12T00:00:00.000Z");

/** The versions deployed on a network, the current one first; empty if fine-tuning is not deployed. */
export function fineTuningContracts({ contracts }: Network): readonly FineTuningContract[] {
  const current = contracts.computeFineTuning.address;
  const old = contracts.computeFineTuningV10.address;
  if (!current) return [];
  const isOnly = { isCurrent: true, since: null, until: null } as const;
  if (!old) return [{ version: "v1.1", address: current, ...isOnly }];
  if (old === current) return [{ version: "v1.0", address: current, ...isOnly }];
  return [
    { version: "v1.1", address: current, isCurrent: true, since: SPLIT, until: null },
    { version: "v1.0", address: old, isCurrent: false, since: null, until: SPLIT },
  ];
}

/**
 * The selected contract. Throws `contract_not_found` if the network has no such contract, and `invalid_parameter` if
 * both a version and a time are given.
 */
export function chooseFineTuning(network: Network, { version, at }: FineTuningChoice): FineTuningContract {
  if (version !== undefined && at !== undefined)
    throw new AppError("invalid_parameter", "Set a version or a time, not both.", { param: "at" });
  const found = fineTuningContracts(network).find((contract) => {
    if (version !== undefined) return contract.version === version;
    if (at === undefined) return contract.isCurrent;
    return (!contract.since || at >= contract.since) && (!contract.until || at < contract.until);
  });
  if (found) return found;
  const what = version === undefined ? "Fine-tuning" : `Fine-tuning ${version}`;
  throw new AppError("contract_not_found", `${what} is not deployed on ${network.name}.`);
}
