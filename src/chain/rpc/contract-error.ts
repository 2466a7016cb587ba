import {
  AbiDecodingZeroDataError,
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
} from "viem";
import { AppError } from "../../kernel/errors.ts";
import { chainError } from "./rpc.client.ts";

const MAX_TEXT = 300;

/**
 * The failure for what viem threw when a contract was called: `contract_refused` with what the contract said,
 * `contract_not_found` where no contract answers at the address, else `chain_error` for `what`.
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
 * What a contract said when it refused a call: the name of its error with its arguments, or its text. Undefined when it
 * did not refuse.
 */
export function refusalOf(cause: unknown): string | undefined {
  const reverted =
    cause instanceof BaseError && cause.walk((e) => e instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return undefined;
  const { data, reason, signature } = reverted;
  if (data && data.errorName !== "Error" && data.errorName !== "Panic")
    return clean(`${data.errorName}(${(data.args ?? []).map(String).join(", ")})`);
  if (reason) return clean(reason);
  return signature ? `The contract refused with its error ${signature}.` : "The contract refused.";
}

/** What a contract's error is called: its name without arguments, or its text as a whole. */
export function refusalName(refusal: string): string {
  return /^([A-Za-z_]\w*)\(.*\)$/s.exec(refusal)?.[1] ?? refusal;
}

function hasNoContract(cause: unknown): boolean {
  if (!(cause instanceof BaseError)) return false;
  const isIt = (e: unknown) =>
    e instanceof ContractFunctionZeroDataError || e instanceof AbiDecodingZeroDataError;
  return cause.walk(isIt) !== null;
}

/** A contract may say anything. */
function clean(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .replace(/\p{Cc}/gu, " ")
    .toWellFormed();
}
