import { type ContractFunctionArgs, type PublicClient, zeroAddress } from "viem";
import { checkTexts, checkTextsIn } from "../../../kernel/check.ts";
import { AppError } from "../../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { agentNftAbi } from "../../abi/agent-nft.ts";
import { agentVerifierAbi, teeVerifierAbi } from "../../abi/agent-verifier.ts";
import { contractError } from "../../rpc/contract-error.ts";
import type { PreparedTransaction } from "../../transactions/prepared-transaction.ts";
import type { TransactionBuilder } from "../../transactions/transaction-builder.ts";
import type { AgentContract } from "./agent-contracts.ts";
import { ORACLE_TYPES, type OracleType } from "./transfer-proof.ts";

/** The roles of AgentNFT (SPEC 2.5). `default_admin` grants the others. */
const AGENT_ROLES = {
  default_admin: "DEFAULT_ADMIN_ROLE",
  admin: "ADMIN_ROLE",
  operator: "OPERATOR_ROLE",
  minter: "MINTER_ROLE",
} as const;
export type AgentRole = keyof typeof AGENT_ROLES;

/** A piece of data of a new token. */
export type NewIntelligentData = { readonly description: string; readonly dataHash: Hex };

/** A token to mint: with its data, or plain with an optional metadata URI. */
export type MintRequest = {
  readonly contract: Hex;
  readonly from: Hex;
  readonly to: Hex;
  readonly data: readonly NewIntelligentData[];
  readonly uri?: string | undefined;
  /** Mints with MINTER_ROLE, free of the mint fee. */
  readonly withRole: boolean;
  /** Recorded as the token's creator; only with MINTER_ROLE. */
  readonly creator?: Hex | undefined;
};

/** The verifier of one proof type: its contract, and the oracle whose signatures it accepts, if it has one. */
export type RegisteredOracle = {
  readonly oracleType: OracleType;
  readonly contract: Hex;
  readonly oracle: Hex | null;
};

/** The verifier of a contract's transfer proofs. */
export type AgentVerifier = {
  readonly address: Hex;
  /** The minimum time for which the verifier remembers a used nonce, seconds. */
  readonly maxProofAgeSeconds: bigint;
  readonly paused: boolean;
  readonly oracles: readonly RegisteredOracle[];
};

type Dependencies = {
  readonly client: PublicClient;
  readonly transactions: TransactionBuilder;
  readonly contracts: readonly AgentContract[];
};

/** Reads the current settings of agent token contracts, and prepares mints. It sends nothing. */
export class AgentContractsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The mint fee, neuron. Throws `not_found`, `contract_refused`, `contract_not_found` and `chain_error`. */
  mintFee(contract: Hex): Promise<bigint> {
    const { address } = this.#agentNft(contract);
    return this.#read("the mint fee", { address, abi: agentNftAbi, functionName: "getMintFee" });
  }

  /** The roles of an account. Throws what `mintFee` throws. */
  async rolesOf(contract: Hex, account: Hex): Promise<readonly AgentRole[]> {
    const { address } = this.#agentNft(contract);
    const token = { address, abi: agentNftAbi } as const;
    const roles = Object.keys(AGENT_ROLES) as AgentRole[];
    const has = await Promise.all(
      roles.map(async (role) => {
        const id = await this.#read<Hex>("a role", { ...token, functionName: AGENT_ROLES[role] });
        const args = [id, lowerHex(account)] as const;
        return this.#read<boolean>("who has a role", { ...token, functionName: "hasRole", args });
      }),
    );
    return roles.filter((_, at) => has[at]);
  }

  /** The verifier of transfer proofs with its oracles. Throws what `mintFee` throws. */
  async verifier(contract: Hex): Promise<AgentVerifier> {
    const token = { address: this.#agentNft(contract).address, abi: agentNftAbi } as const;
    const address = lowerHex(
      await this.#read<Hex>("the contract's verifier", { ...token, functionName: "verifier" }),
    );
    const verifier = { address, abi: agentVerifierAbi } as const;
    const [maxProofAgeSeconds, paused, oracles] = await Promise.all([
      this.#read<bigint>("maxProofAge", { ...verifier, functionName: "maxProofAge" }),
      this.#read<boolean>("whether it is paused", { ...verifier, functionName: "paused" }),
      Promise.all(ORACLE_TYPES.map((oracleType, number) => this.#oracleOf(address, oracleType, number))),
    ]);
    return { address, maxProofAgeSeconds, paused, oracles: oracles.filter((oracle) => oracle !== undefined) };
  }

  /**
   * A transaction that mints a token, simulated on the chain first. It sends the current mint fee, unless it mints
   * with MINTER_ROLE. Throws `invalid_parameter` for incompatible fields, and what `mintFee` throws.
   */
  async mint(request: MintRequest): Promise<PreparedTransaction> {
    const { data, uri, withRole, creator } = request;
    checkTexts({ uri });
    checkTextsIn(data, "data");
    if (data.length > 0 && uri !== undefined) throw invalid("uri", "Set data or a URI, not both.");
    if (creator !== undefined && !withRole)
      throw invalid("creator", "Only a mint with MINTER_ROLE can set a creator.");
    if (creator !== undefined && data.length === 0 && uri === undefined)
      throw invalid("creator", "A creator needs data or a URI.");
    const { address } = this.#agentNft(request.contract);
    const value = withRole ? 0n : await this.mintFee(address);
    const call = { to: address, abi: agentNftAbi, from: request.from, value };
    const functionName = withRole ? "mintWithRole" : "mint";
    return this.#dependencies.transactions.prepare({
      ...call,
      functionName,
      args: mintArguments(request),
      warnings:
        value > 0n
          ? ["The contract keeps the mint fee, even if the token is minted to another account."]
          : [],
    });
  }

  async #oracleOf(
    verifier: Hex,
    oracleType: OracleType,
    number: number,
  ): Promise<RegisteredOracle | undefined> {
    const attestation = { address: verifier, abi: agentVerifierAbi } as const;
    const contract = lowerHex(
      await this.#read<Hex>("its attestation contract", {
        ...attestation,
        functionName: "attestationContract",
        args: [number],
      }),
    );
    if (contract === zeroAddress) return undefined;
    if (oracleType !== "tee") return { oracleType, contract, oracle: null };
    const tee = { address: contract, abi: teeVerifierAbi } as const;
    const oracle = await this.#read<Hex>("its oracle", { ...tee, functionName: "teeOracleAddress" });
    return { oracleType, contract, oracle: lowerHex(oracle) };
  }

  async #read<T>(what: string, call: Parameters<PublicClient["readContract"]>[0]): Promise<T> {
    try {
      return (await this.#dependencies.client.readContract(call)) as T;
    } catch (cause) {
      throw contractError(what, cause);
    }
  }

  #agentNft(address: Hex): AgentContract {
    const lowered = lowerHex(address);
    const contract = this.#dependencies.contracts.find((known) => known.address === lowered);
    if (!contract)
      throw new AppError("not_found", "This contract is not configured: see agentContracts.", {
        param: "contract",
      });
    if (contract.generation === "agent-nft") return contract;
    throw invalid("contract", "Only contracts of the generation AgentNFT are supported.");
  }
}

type MintArguments = ContractFunctionArgs<
  typeof agentNftAbi,
  "nonpayable" | "payable",
  "mint" | "mintWithRole"
>;

/** The arguments of the overload of `mint` or `mintWithRole` that fits the request's fields. */
function mintArguments({ data, uri, to, creator }: MintRequest): MintArguments {
  const by: readonly [] | readonly [Hex] = creator === undefined ? [] : [lowerHex(creator)];
  if (data.length === 0) return uri === undefined ? [lowerHex(to)] : [lowerHex(to), uri, ...by];
  const datas = data.map(({ description: dataDescription, dataHash }) => ({ dataDescription, dataHash }));
  return [datas, lowerHex(to), ...by];
}

function invalid(param: string, message: string): AppError {
  return new AppError("invalid_parameter", message, { param });
}
