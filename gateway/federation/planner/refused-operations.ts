import { createHash } from "node:crypto";
import QuickLRU from "quick-lru";

/** Why an operation is not planned: the planner died, was too slow, gave up, or answered too much. */
export type RefusalReason = "crashed" | "deadline" | "failed" | "too_large";

/** How long it is not tried again, in milliseconds. A deadline may also be missed because the machine was busy. */
const REMEMBERED_MS: Readonly<Record<RefusalReason, number>> = {
  crashed: 600_000,
  deadline: 30_000,
  failed: 600_000,
  too_large: 600_000,
};
const MAX_REMEMBERED = 1_000;

/** Remembers, by hash and for a while, which operations must not be given to the planner again. */
export class RefusedOperations {
  readonly #reasons = new QuickLRU<string, RefusalReason>({ maxSize: MAX_REMEMBERED });

  add(operationText: string, operationName: string | null, reason: RefusalReason): void {
    this.#reasons.set(hashOf(operationText, operationName), reason, { maxAge: REMEMBERED_MS[reason] });
  }

  /** Why the operation was refused before; undefined when it was not, or when that is too long ago. */
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
