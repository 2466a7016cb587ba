import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { fineTuningServingAbi } from "../abi/fine-tuning-serving.ts";
import { inferenceServingAbi } from "../abi/inference-serving.ts";
import { ledgerManagerAbi } from "../abi/ledger-manager.ts";
import { addressOf, type Network } from "../networks.ts";
import type { PreparedTransaction } from "../transactions/prepared-transaction.ts";
import type { TransactionBuilder } from "../transactions/transaction-builder.ts";
import { chooseFineTuning, type FineTuningVersion } from "./fine-tuning-contracts.ts";
import type { ServiceNames } from "./service-names.ts";

/** A service of the direct path: inference, or fine-tuning in the current version or in the old one. */
export type DirectServiceName = "inference" | "fine-tuning" | "fine-tuning-v1.0";

type Dependencies = {
  readonly transactions: TransactionBuilder;
  readonly network: Network;
  readonly names: ServiceNames;
};
/** Whose wallet sends it; with it the call is tried on the chain first. */
type Sender = { readonly from?: Hex | undefined };

const MAX_PROVIDERS = 20;
const EPHEMERAL_TOKEN_ID = 255;
const MAX_ID_LENGTH = 256;

const OTHER_POOL =
  "This money is for the direct path alone: the router's balance is another pool, and stays as it is.";

/**
 * Unsigned transactions of the direct path. Each throws `invalid_parameter` for what no contract would take,
 * `contract_not_found` where the network lacks the contract, and with a sender what `TransactionBuilder` throws.
 */
export class DirectTransactions {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Opens the sender's ledger with `amount` neuron. */
  addLedger({ amount, additionalInfo = "", from }: Sender & { amount: bigint; additionalInfo?: string }) {
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "addLedger",
      args: [additionalInfo],
      value: positive(amount),
      from,
      warnings: [OTHER_POOL],
    });
  }

  /** Adds `amount` neuron to the sender's ledger, or to that of `recipient`. */
  depositFund({ amount, recipient, from }: Sender & { amount: bigint; recipient?: Hex | undefined }) {
    const money = { value: positive(amount), from, warnings: [OTHER_POOL] };
    return recipient === undefined
      ? this.#dependencies.transactions.prepare({
          ...this.#ledger(),
          functionName: "depositFund",
          args: [],
          ...money,
        })
      : this.#dependencies.transactions.prepare({
          ...this.#ledger(),
          functionName: "depositFundFor",
          args: [recipient],
          ...money,
        });
  }

  /** Moves `amount` neuron from the sender's ledger to its sub-account at a provider. */
  async transferFund({
    provider,
    service,
    amount,
    from,
  }: Sender & { provider: Hex; service: DirectServiceName; amount: bigint }): Promise<PreparedTransaction> {
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "transferFund",
      args: [provider, await this.#nameOf(service), positive(amount)],
      from,
      warnings: ["A refund that is under way from this provider is called off before fresh money is taken."],
    });
  }

  /** Collects what has waited out its lock, and asks for the rest of the sender's sub-accounts at these providers. */
  async retrieveFund({
    providers,
    service,
    from,
  }: Sender & { providers: readonly Hex[]; service: DirectServiceName }): Promise<PreparedTransaction> {
    if (providers.length < 1 || providers.length > MAX_PROVIDERS)
      throw refused("providers", `Retrieve from 1 to ${MAX_PROVIDERS} providers at once.`);
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "retrieveFund",
      args: [providers, await this.#nameOf(service)],
      from,
      warnings: ["What is asked for now waits out its lock: send this again then, to collect it."],
    });
  }

  /** Pays `amount` neuron out of the sender's ledger to its wallet. */
  refund({ amount, from }: Sender & { amount: bigint }) {
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "refund",
      args: [positive(amount)],
      from,
      warnings: ["What stays in the ledger must be nothing, or the least that a ledger may have."],
    });
  }

  /** Acknowledges a provider's signer in the sender's name, or takes that back. */
  acknowledgeSigner({
    provider,
    service,
    acknowledged,
    from,
  }: Sender & {
    provider: Hex;
    service: DirectServiceName;
    acknowledged: boolean;
  }): Promise<PreparedTransaction> {
    const warnings = acknowledged
      ? ["From now on this provider may settle what its enclave signs. Verify its attestation first."]
      : [];
    const call = {
      functionName: "acknowledgeTEESigner",
      args: [provider, acknowledged],
      from,
      warnings,
    } as const;
    const { transactions } = this.#dependencies;
    return service === "inference"
      ? transactions.prepare({ ...this.#inference(), ...call })
      : transactions.prepare({ ...this.#fineTuning(versionOf(service)), ...call });
  }

  /** Acknowledges a trained model, after which the provider may settle and the model's key is given out. */
  acknowledgeDeliverable({
    provider,
    id,
    version,
    from,
  }: Sender & {
    provider: Hex;
    id: string;
    version?: FineTuningVersion | undefined;
  }): Promise<PreparedTransaction> {
    if (id.length < 1 || id.length > MAX_ID_LENGTH)
      throw refused("id", `A deliverable's id has 1 to ${MAX_ID_LENGTH} characters.`);
    return this.#dependencies.transactions.prepare({
      ...this.#fineTuning(version),
      functionName: "acknowledgeDeliverable",
      args: [provider, id],
      from,
      warnings: ["Check the model in storage before: the fee is settled then."],
    });
  }

  /** Revokes persistent secrets (`app-sk-`), 0 to 254, at one inference provider. */
  revokeTokens({
    provider,
    tokenIds,
    from,
  }: Sender & { provider: Hex; tokenIds: readonly number[] }): Promise<PreparedTransaction> {
    const ids = [...new Set(tokenIds)];
    const isOne = (id: number) => Number.isInteger(id) && id >= 0 && id < EPHEMERAL_TOKEN_ID;
    if (ids.length === 0 || !ids.every(isOne))
      throw refused("tokenIds", "Name token ids from 0 to 254; ephemeral secrets end with their generation.");
    const [first] = ids;
    return ids.length === 1 && first !== undefined
      ? this.#dependencies.transactions.prepare({
          ...this.#inference(),
          functionName: "revokeToken",
          args: [provider, first],
          from,
        })
      : this.#dependencies.transactions.prepare({
          ...this.#inference(),
          functionName: "revokeTokens",
          args: [provider, ids],
          from,
        });
  }

  /** Ends every secret at one inference provider, ephemeral ones too, by a new generation. */
  revokeAllTokens({ provider, from }: Sender & { provider: Hex }): Promise<PreparedTransaction> {
    return this.#dependencies.transactions.prepare({
      ...this.#inference(),
      functionName: "revokeAllTokens",
      args: [provider],
      from,
      warnings: [
        "Every secret that this wallet signed for the provider is void then, in whosever hands it is.",
      ],
    });
  }

  #nameOf(service: DirectServiceName): Promise<string> {
    const { network, names } = this.#dependencies;
    if (service === "inference") return names.nameOf(addressOf(network, "computeInference"));
    return names.nameOf(chooseFineTuning(network, { version: versionOf(service) }).address);
  }

  #ledger() {
    return { to: addressOf(this.#dependencies.network, "computeLedger"), abi: ledgerManagerAbi } as const;
  }

  #inference() {
    return {
      to: addressOf(this.#dependencies.network, "computeInference"),
      abi: inferenceServingAbi,
    } as const;
  }

  #fineTuning(version: FineTuningVersion | undefined) {
    const { address } = chooseFineTuning(this.#dependencies.network, { version });
    return { to: address, abi: fineTuningServingAbi } as const;
  }
}

function versionOf(service: DirectServiceName): FineTuningVersion | undefined {
  return service === "fine-tuning-v1.0" ? "v1.0" : undefined;
}

function positive(amount: bigint): bigint {
  if (amount > 0n) return amount;
  throw refused("amount", "The amount must be more than 0.");
}

function refused(param: string, message: string): AppError {
  return new AppError("invalid_parameter", message, { param });
}
