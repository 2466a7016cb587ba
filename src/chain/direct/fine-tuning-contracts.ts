import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Network } from "../networks.ts";

/** The versions of the fine-tuning contract (SPEC 9.3). */
export type FineTuningVersion = "v1.1" | "v1.0";

/** A deployed version of the fine-tuning contract, and the time of which it has the history. */
export type FineTuningContract = {
  readonly version: FineTuningVersion;
  readonly address: Hex;
  /** Whether new work goes there. */
  readonly isCurrent: boolean;
  /** From when on it has the history, null for always. */
  readonly since: Date | null;
  /** Before when it has the history, null for always. */
  readonly until: Date | null;
};

/** Which contract is meant: a version, or the one that has the history of a moment; the current one without either. */
export type FineTuningChoice = {
  readonly version?: FineTuningVersion | undefined;
  readonly at?: Date | undefined;
};

/** History before this day needs the old contract where there are two (SPEC 9.3). */
const SPLIT = new Date("2026-02-12T00:00:00.000Z");

/** The versions that a network has, the current one first; none where fine-tuning is not deployed. */
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
 * The contract that is meant. Throws `contract_not_found` where the network has none such, and `invalid_parameter` when
 * both a version and a moment are named.
 */
export function chooseFineTuning(network: Network, { version, at }: FineTuningChoice): FineTuningContract {
  if (version !== undefined && at !== undefined)
    throw new AppError("invalid_parameter", "Name a version or a moment, not both.", { param: "at" });
  const found = fineTuningContracts(network).find((contract) => {
    if (version !== undefined) return contract.version === version;
    if (at === undefined) return contract.isCurrent;
    return (!contract.since || at >= contract.since) && (!contract.until || at < contract.until);
  });
  if (found) return found;
  const what = version === undefined ? "Fine-tuning" : `Fine-tuning ${version}`;
  throw new AppError("contract_not_found", `${what} is not deployed on ${network.name}.`);
}
