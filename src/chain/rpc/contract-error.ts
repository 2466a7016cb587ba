import {
  AbiDecodingZeroDataError,
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  InsufficientFundsError,
} from "viem";
import { AppError } from "../../kernel/errors.ts";
import { chainError } from "./rpc.client.ts";
import { revertDetails } from "./rpc-errors.ts";

const MAX_TEXT = 300;

/**
 * Maps an error that viem threw for a contract call: `contract_refused` with the contract's own error,
 * `contract_not_found` if the address has no such contract, else `chain_error` for `what`.
 */
export function contractError(what: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const refusal = refusalOf(cause);
  if (refusal !== undefined) return new AppError("contract_refused", refusal, { cause });
  if (hasNoContract(cause))
    return new AppError("contract_not_found", `There is no such contract at this address: ${what}.`, {
      cause,
    });
  return chainError(what, cause);
}

/**
 * The revert reason of a call: the error's name with its arguments, or its text. Undefined if the call did not revert.
 */
export function refusalOf(cause: unknown): string | undefined {
  const reverted =
    cause instanceof BaseError && cause.walk((e) => e instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return revertText(cause);
  const { data, reason, signature } = reverted;
  if (data && data.errorName !== "Error" && data.errorName !== "Panic")
    return clean(`${data.errorName}(${(data.args ?? []).map(String).join(", ")})`);
  if (reason) return clean(reason);
  return signature ? `The contract reverted with error ${signature}.` : "The contract reverted.";
}

/** viem takes a revert without data for a failure of the node, if the node gives it the code of other failures. */
function revertText(cause: unknown): string | undefined {
  const text = revertDetails(cause);
  if (text === undefined) return undefined;
  const reason = /\breverted: *(\S.*)$/is.exec(text)?.[1];
  return reason === undefined ? "The contract reverted." : clean(reason);
}

/** Whether a call failed because the sender's balance does not cover its value. */
export function isUnfunded(cause: unknown): boolean {
  return cause instanceof BaseError && cause.walk((e) => e instanceof InsufficientFundsError) !== null;
}

/** The error's name without its arguments, or the whole text of a plain revert reason. */
export function refusalName(refusal: string): string {
  return /^([A-Za-z_]\w*)\(.*\)$/s.exec(refusal)?.[1] ?? refusal;
}

function hasNoContract(cause: unknown): boolean {
  if (!(cause instanceof BaseError)) return false;
  const isIt = (e: unknown) =>
    e instanceof ContractFunctionZeroDataError || e instanceof AbiDecodingZeroDataError;
  return cause.walk(isIt) !== null;
}

/** A contract controls this text, so it is truncated and control characters are removed. */
function clean(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .replace(/\p{Cc}/gu, " ")
    .toWellFormed();
}
