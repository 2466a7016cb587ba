import { AppError } from "../kernel/errors.ts";
import { formatToken } from "../kernel/text/amount.ts";
import { KeyRestrictionsChanged } from "../keys/api-keys/key-settings.ts";
import { credentialEnded } from "../keys/auth/ended-credential.ts";
import type { ExhaustedBudget, HoldAnswer, HoldRequest } from "./holds.store.ts";

/** Budgets of an account's tags changed while a request was admitted. Nothing was held; it has to be repeated. */
export class TagBudgetsChanged extends AppError {
  constructor() {
    super("unavailable", "The budgets of tags are being changed. Try again.");
  }
}

/**
 * The money left does not cover a request. `isEmpty` if nothing is left, so that no cheaper request is covered either.
 */
export class NotCovered extends AppError {
  readonly isEmpty: boolean;

  constructor(code: "insufficient_balance" | "credit_limit_exceeded", message: string, left: bigint) {
    super(code, message);
    this.isEmpty = left <= 0n;
  }
}

/** Why nothing was granted although `unused` neuron of the process's own allotment were available. */
export function refusalOf(answer: HoldAnswer, request: HoldRequest, unused: bigint): Error {
  if (answer.key === "revoked") return credentialEnded("api_key_revoked");
  if (answer.key === "expired") return credentialEnded("api_key_expired");
  if (answer.restrictions) return new KeyRestrictionsChanged(answer.restrictions);
  if (answer.budget) return overBudget(answer.budget);
  if (answer.keyAvailable !== undefined && answer.keyAvailable + unused < request.minimum)
    return new NotCovered(
      "credit_limit_exceeded",
      "The remaining credit limit of this key does not cover this request.",
      answer.keyAvailable + unused,
    );
  return new NotCovered(
    "insufficient_balance",
    "The balance does not cover this request. Deposit funds to continue.",
    answer.available + unused,
  );
}

function overBudget({ name, value, creditLimit, left }: ExhaustedBudget): AppError {
  const [limit, rest] = [formatToken(creditLimit), formatToken(left > 0n ? left : 0n)];
  return new NotCovered(
    "credit_limit_exceeded",
    `The budget of the tag ${name}=${value} does not cover this request: ${rest} of ${limit} is left.`,
    left,
  );
}
