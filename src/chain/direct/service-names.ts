import type { PublicClient } from "viem";
import { memoizeFor } from "../../kernel/async/memoize-for.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { ledgerManagerAbi } from "../abi/ledger-manager.ts";
import { addressOf, type Network } from "../networks.ts";
import { contractError } from "../rpc/contract-error.ts";

type Dependencies = { readonly client: PublicClient; readonly network: Network; readonly clock: Clock };

const NAMES_TTL_MS = 60_000;

/**
 * The names of service contracts in the ledger, such as `inference-v1.0`. Transfers name the service, so the names are
 * read from the contract rather than guessed.
 */
export class ServiceNames {
  readonly #rows: () => Promise<ReadonlyMap<Hex, string>>;

  constructor({ client, network, clock }: Dependencies) {
    this.#rows = memoizeFor(clock, NAMES_TTL_MS, async () => {
      try {
        const rows = await client.readContract({
          address: addressOf(network, "computeLedger"),
          abi: ledgerManagerAbi,
          functionName: "getAllActiveServices",
        });
        return new Map(rows.map(({ serviceAddress, fullName }) => [lowerHex(serviceAddress), fullName]));
      } catch (error) {
        throw contractError("the services of the ledger", error);
      }
    });
  }

  /** The name of a service contract. Throws `contract_not_found` if the ledger does not list it. */
  async nameOf(service: Hex): Promise<string> {
    const name = (await this.#rows()).get(lowerHex(service));
    if (name !== undefined) return name;
    throw new AppError("contract_not_found", `The ledger of the direct path has no service at ${service}.`);
  }
}
