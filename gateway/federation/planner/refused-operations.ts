import { createHash } from "node:crypto";
import QuickLRU from "quick-lru";

/** Why an operation is not planned: the planner died, was too slow, failed, or returned too large a plan. */
export type RefusalReason = "crashed" | "deadline" | "failed" | "too_large";

/** How long it is not retried, in milliseconds. A deadline may also be missed because the machine was busy. */
const REMEMBERED_MS: Readonly<Record<RefusalReason, number>> = {
  crashed: 600_000,
  deadline: 30_000,
  failed: 600_000,
  too_large: 600_000,
};
const MAX_REMEMBERED = 1_000;

/** Remembers for a while, by hash, which operations must not be sent to the planner again. */
export class RefusedOperations {
  readonly #reasons = new QuickLRU<string, RefusalReason>({ maxSize: MAX_REMEMBERED });

  add(operationText: string, operationName: string | null, reason: RefusalReason): void {
    this.#reasons.set(hashOf(operationText, operationName), reason, { maxAge: REMEMBERED_MS[reason] });
  }

  /** The earlier reason of refusal; undefined when there is none, or it has expired. */
  reasonOf(operationText: string, operationName: string | null): RefusalReason | undefined {
    if (this.#reasons.size === 0) return undefined;
    return this.#reasons.get(hashOf(operationText, operationName));
  }
}

function hashOf(operationText: string, operationName: string | null): string {
  return createHash("sha256")
    .update(`${operationName ?? ""}\n${operationText}`)
    .digest("base64");
}
