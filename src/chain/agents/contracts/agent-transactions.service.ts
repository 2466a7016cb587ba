import { randomBytes } from "node:crypto";
import { type PublicClient, size, toHex } from "viem";
import { mapInTurns } from "../../../kernel/async/map-in-turns.ts";
import { AppError } from "../../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { agentNftAbi } from "../../abi/agent-nft.ts";
import { agenticIdAbi } from "../../abi/agentic-id.ts";
import { contractError, refusalOf } from "../../rpc/contract-error.ts";
import type { PreparedTransaction } from "../../transactions/prepared-transaction.ts";
import type { TransactionBuilder } from "../../transactions/transaction-builder.ts";
import type { TokenKey } from "../tokens/token-rows.ts";
import type { AgentContract } from "./agent-contracts.ts";
import { readTransferFacts } from "./transfer-facts.client.ts";
import {
  accessProofText,
  explainRefusal,
  type Move,
  readProofs,
  type TransferProof,
  toProofArguments,
} from "./transfer-proof.ts";

type Dependencies = {
  readonly client: PublicClient;
  readonly transactions: TransactionBuilder;
  readonly contracts: readonly AgentContract[];
};

/** The token to transfer. `sender` sends the transaction: the owner by default, or an approved account. */
export type MoveRequest = TokenKey & {
  readonly from: Hex;
  readonly to: Hex;
  readonly sender?: Hex | undefined;
  readonly proofs: readonly TransferProof[];
};

/** The text that a receiver signs for one piece of a token's data, and its parts. */
export type AccessProofText = {
  readonly index: number;
  readonly dataHash: Hex;
  readonly targetPubkey: Hex;
  readonly nonce: Hex;
  readonly text: Hex;
};

const NONCE_BYTES = 32;
/** Every text of a token's data contains the key. */
const MAX_PUBKEY_BYTES = 4_096;
const REPLAYABLE =
  "The verifier may forget a nonce 7 days after its use: the same proofs can then create another clone.";

/**
 * Prepares unsigned transactions of agent tokens. Each is simulated on the current chain state first. If it would
 * revert, it throws `contract_refused` with the contract's error and an explanation.
 */
export class AgentTransactionsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The texts that the receiver of a token signs, one for each piece of its data, in order. Without `targetPubkey`,
   * keys are sealed for the receiver's own address. Throws `invalid_parameter` for a key of more than 4,096 bytes,
   * `not_found`, `contract_refused`, `chain_error`.
   */
  async accessProofTexts(
    { contract, tokenId }: TokenKey,
    targetPubkey: Hex = "0x",
  ): Promise<readonly AccessProofText[]> {
    const { address } = this.#contract(contract);
    if (size(targetPubkey) > MAX_PUBKEY_BYTES)
      throw new AppError("invalid_parameter", `A public key has at most ${MAX_PUBKEY_BYTES} bytes.`, {
        param: "targetPubkey",
      });
    const datas = await this.#datasOf(address, tokenId);
    return mapInTurns([...datas.entries()], ([index, { dataHash }]) => {
      const nonce = toHex(randomBytes(NONCE_BYTES));
      const parts = { dataHash: lowerHex(dataHash), targetPubkey: lowerHex(targetPubkey), nonce };
      return { index, ...parts, text: accessProofText(parts) };
    });
  }

  /** Transfers a token with its keys. Throws `contract_refused` with the contract's error and the proof at fault. */
  async transfer(request: MoveRequest): Promise<PreparedTransaction> {
    // Before the chain is read, whose refusal of the same mistake would say less.
    this.#withProofs(request.contract);
    return this.#move("iTransferFrom", request, await this.#authorizedWarning(request));
  }

  /** Clones a token's data into a new token of the receiver. Throws what `transfer` throws. */
  clone(request: MoveRequest): Promise<PreparedTransaction> {
    return this.#move("iCloneFrom", request, [REPLAYABLE]);
  }

  /** Authorises a user to use a token. `from` is the owner; by default it is read from the chain. */
  authorizeUsage(key: TokenKey, user: Hex, from?: Hex): Promise<PreparedTransaction> {
    return this.#ownerCall("authorizeUsage", key, [key.tokenId, user], from);
  }

  /** Revokes a user's authorisation. */
  revokeAuthorization(key: TokenKey, user: Hex, from?: Hex): Promise<PreparedTransaction> {
    return this.#ownerCall("revokeAuthorization", key, [key.tokenId, user], from);
  }

  /** Delegates the signing of access proofs for the sender's tokens of a contract; the zero address ends it. */
  async delegateAccess(contract: Hex, assistant: Hex, from?: Hex): Promise<PreparedTransaction> {
    const { address: to, generation } = this.#contract(contract);
    const { transactions } = this.#dependencies;
    const args = [lowerHex(assistant)] as const;
    return generation === "agent-nft"
      ? transactions.prepare({ to, abi: agentNftAbi, functionName: "delegateAccess", args, from })
      : transactions.prepare({ to, abi: agenticIdAbi, functionName: "setAccessDelegate", args, from });
  }

  async #move(
    functionName: "iTransferFrom" | "iCloneFrom",
    request: MoveRequest,
    warnings: readonly string[],
  ): Promise<PreparedTransaction> {
    const { address } = this.#withProofs(request.contract);
    const move = toMove(request);
    const args = [move.from, move.to, request.tokenId, toProofArguments(move.proofs)] as const;
    try {
      return await this.#dependencies.transactions.prepare({
        to: address,
        abi: agentNftAbi,
        functionName,
        args,
        from: move.sender,
        warnings,
      });
    } catch (error) {
      throw await this.#explained(error, { address, tokenId: request.tokenId }, move);
    }
  }

  async #explained(error: unknown, token: { address: Hex; tokenId: bigint }, move: Move): Promise<unknown> {
    const refusal = error instanceof AppError ? refusalOf(error.cause) : undefined;
    if (refusal === undefined) return error;
    const facts = await readTransferFacts(this.#dependencies.client, token, move, refusal).catch(
      () => undefined,
    );
    const why = facts && (await explainRefusal(refusal, move, facts));
    if (!why) return error;
    return new AppError("contract_refused", `${refusal}: ${why.text}.`, {
      cause: error,
      ...(why.param && { param: why.param }),
    });
  }

  /** The number of users whose authorisation ends with the transfer. */
  async #authorizedWarning({ contract, tokenId }: TokenKey): Promise<readonly string[]> {
    const { address } = this.#contract(contract);
    const call = { address, abi: agentNftAbi, functionName: "authorizedUsersOf", args: [tokenId] } as const;
    // If the token does not exist, the simulated transfer reports it.
    const read = this.#dependencies.client.readContract(call);
    const users = await withContractError("the authorised users", read).catch((error: AppError) => {
      if (error.code === "contract_refused") return [];
      throw error;
    });
    return users.length === 0 ? [] : [`It ends the authorisation of ${users.length} users.`];
  }

  async #ownerCall(
    functionName: "authorizeUsage" | "revokeAuthorization",
    { contract, tokenId }: TokenKey,
    args: readonly [bigint, Hex],
    from: Hex | undefined,
  ): Promise<PreparedTransaction> {
    const { address } = this.#contract(contract);
    const owner = from ?? (await this.#ownerOf(address, tokenId));
    return this.#dependencies.transactions.prepare({
      to: address,
      abi: agentNftAbi,
      functionName,
      args: [args[0], lowerHex(args[1])],
      from: lowerHex(owner),
    });
  }

  #ownerOf(address: Hex, tokenId: bigint): Promise<Hex> {
    const call = { address, abi: agentNftAbi, functionName: "ownerOf", args: [tokenId] } as const;
    return withContractError("the token's owner", this.#dependencies.client.readContract(call));
  }

  #datasOf(address: Hex, tokenId: bigint) {
    const call = { address, abi: agentNftAbi, functionName: "intelligentDatasOf", args: [tokenId] } as const;
    return withContractError("the token's data", this.#dependencies.client.readContract(call));
  }

  #withProofs(address: Hex): AgentContract {
    const contract = this.#contract(address);
    if (contract.generation === "agent-nft") return contract;
    throw new AppError(
      "invalid_parameter",
      "Transfers with proofs are not supported for this contract's generation.",
      {
        param: "contract",
      },
    );
  }

  #contract(address: Hex): AgentContract {
    const lowered = lowerHex(address);
    const contract = this.#dependencies.contracts.find((known) => known.address === lowered);
    if (contract) return contract;
    throw new AppError("not_found", "This contract is not configured: see agentContracts.", {
      param: "contract",
    });
  }
}

/** The result of a contract call. Throws `contract_refused`, `contract_not_found` or `chain_error`. */
async function withContractError<T>(what: string, call: Promise<T>): Promise<T> {
  return call.catch((cause: unknown) => {
    throw contractError(what, cause);
  });
}

function toMove({ from, to, sender, proofs }: MoveRequest): Move {
  return {
    from: lowerHex(from),
    to: lowerHex(to),
    sender: lowerHex(sender ?? from),
    proofs: readProofs(proofs),
  };
}
