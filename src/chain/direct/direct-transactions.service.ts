import { checkTexts } from "../../kernel/check.ts";
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

/** A service of the direct path: inference, or fine-tuning in the current or the old version. */
export type DirectServiceName = "inference" | "fine-tuning" | "fine-tuning-v1.0";

type Dependencies = {
  readonly transactions: TransactionBuilder;
  readonly network: Network;
  readonly names: ServiceNames;
};
/** The sending wallet; if given, the call is simulated on the chain first. */
type Sender = { readonly from?: Hex | undefined };

const MAX_PROVIDERS = 20;
const EPHEMERAL_TOKEN_ID = 255;
const MAX_ID_LENGTH = 256;

const SEPARATE_POOL =
  "These funds are for the direct path only: the router's balance is a separate pool and does not change.";

/**
 * Unsigned transactions of the direct path. Each throws `invalid_parameter` for arguments that every contract would
 * reject, `contract_not_found` if the network lacks the contract, and with a sender what `TransactionBuilder` throws.
 */
export class DirectTransactions {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Opens the sender's ledger with `amount` neuron. */
  async addLedger({
    amount,
    additionalInfo = "",
    from,
  }: Sender & { amount: bigint; additionalInfo?: string }): Promise<PreparedTransaction> {
    checkTexts({ additionalInfo });
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "addLedger",
      args: [additionalInfo],
      value: positive(amount),
      from,
      warnings: [SEPARATE_POOL],
    });
  }

  /** Adds `amount` neuron to the sender's ledger, or to that of `recipient`. */
  depositFund({ amount, recipient, from }: Sender & { amount: bigint; recipient?: Hex | undefined }) {
    const payment = { value: positive(amount), from, warnings: [SEPARATE_POOL] };
    return recipient === undefined
      ? this.#dependencies.transactions.prepare({
          ...this.#ledger(),
          functionName: "depositFund",
          args: [],
          ...payment,
        })
      : this.#dependencies.transactions.prepare({
          ...this.#ledger(),
          functionName: "depositFundFor",
          args: [recipient],
          ...payment,
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
      warnings: ["A pending refund from this provider is cancelled before new funds are transferred."],
    });
  }

  /** Collects unlocked refunds, and requests a refund of the rest of the sender's sub-accounts at these providers. */
  async retrieveFund({
    providers,
    service,
    from,
  }: Sender & { providers: readonly Hex[]; service: DirectServiceName }): Promise<PreparedTransaction> {
    if (providers.length < 1 || providers.length > MAX_PROVIDERS)
      throw refused("providers", `Retrieve from 1 to ${MAX_PROVIDERS} providers at a time.`);
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "retrieveFund",
      args: [providers, await this.#nameOf(service)],
      from,
      warnings: [
        "Refunds requested now are locked first: send this transaction again after the lock to collect them.",
      ],
    });
  }

  /** Pays `amount` neuron out of the sender's ledger to its wallet. */
  refund({ amount, from }: Sender & { amount: bigint }) {
    return this.#dependencies.transactions.prepare({
      ...this.#ledger(),
      functionName: "refund",
      args: [positive(amount)],
      from,
      warnings: ["The remaining ledger balance must be 0 or at least the minimum."],
    });
  }

  /** Acknowledges a provider's signer on behalf of the sender, or revokes the acknowledgement. */
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
      ? ["The provider can then settle whatever its enclave signs. Verify its attestation first."]
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

  /** Acknowledges a trained model: the provider can then settle, and the model's key is released. */
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
      throw refused("id", `A deliverable's id must have 1 to ${MAX_ID_LENGTH} characters.`);
    return this.#dependencies.transactions.prepare({
      ...this.#fineTuning(version),
      functionName: "acknowledgeDeliverable",
      args: [provider, id],
      from,
      warnings: ["Check the model in storage first: after this, the fee is settled."],
    });
  }

  /** Revokes persistent secrets (`app-sk-`), 0 to 254, at one inference provider. */
  revokeTokens({
    provider,
    tokenIds,
    from,
  }: Sender & { provider: Hex; tokenIds: readonly number[] }): Promise<PreparedTransaction> {
    const ids = [...new Set(tokenIds)];
    const isPersistent = (id: number) => Number.isInteger(id) && id >= 0 && id < EPHEMERAL_TOKEN_ID;
    if (ids.length === 0 || !ids.every(isPersistent))
      throw refused(
        "tokenIds",
        "Token ids must be from 0 to 254; ephemeral secrets end with their generation.",
      );
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

  /** Revokes every secret at one inference provider, including ephemeral ones, by starting a new generation. */
  revokeAllTokens({ provider, from }: Sender & { provider: Hex }): Promise<PreparedTransaction> {
    return this.#dependencies.transactions.prepare({
      ...this.#inference(),
      functionName: "revokeAllTokens",
      args: [provider],
      from,
      warnings: ["Every secret that this wallet signed for the provider becomes invalid, whoever holds it."],
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
