import { refusalName, refusalOf } from "./contract-error.ts";

/** Whether a contract reverted a call with the error of this name. */
export function refusedWith(cause: unknown, name: string): boolean {
  const refusal = refusalOf(cause);
  return refusal !== undefined && refusalName(refusal) === name;
}
