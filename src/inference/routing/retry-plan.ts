import type { ProviderHealth } from "../providers/health.service.ts";
import type { Provider } from "../providers/provider.ts";
import type { FailureKind, ProviderFailure } from "../providers/provider-failure.ts";

/** Failures after which the same provider may be tried again, when there is no other. */
const PASSING: ReadonlySet<FailureKind> = new Set(["unreachable", "failed", "busy", "credential", "field"]);
const FIRST_BACKOFF_MS = 250;
/** The longest wait for a busy provider. */
const MAX_PAUSE_MS = 10_000;

/** When a provider that asked for a pause can be asked: after a short pause, or now if the pause is too long to wait. */
export function restEndMs({ restMs }: ProviderHealth, nowMs: number): number {
  return restMs > 0 && restMs <= MAX_PAUSE_MS ? nowMs + restMs : 0;
}

/** Leaves in the queue only those whose context is known to be longer than that of `refused`. False when none is. */
export function keepLarger(queue: { readonly provider: Provider }[], refused: Provider): boolean {
  const { contextLength } = refused.profile;
  const isLarger = ({ provider }: { readonly provider: Provider }) =>
    contextLength !== undefined && (provider.profile.contextLength ?? 0) > contextLength;
  queue.splice(0, queue.length, ...queue.filter(isLarger));
  return queue.length > 0;
}

/**
 * Takes the candidate that can be asked first: while there is one that was not asked yet, not one whose circuit has
 * opened since it was chosen or is being probed by another request.
 */
export function takeNext<
  T extends { readonly provider: Provider; readonly failures: number; readonly notBeforeMs: number },
>(queue: T[], isShut: (provider: Provider) => boolean): T | undefined {
  const fresh = queue.filter(({ provider, failures }) => failures === 0 && !isShut(provider));
  const soonest = Math.min(...fresh.map(({ notBeforeMs }) => notBeforeMs));
  const at = queue.findIndex((one) => fresh.includes(one) && one.notBeforeMs === soonest);
  return queue.splice(Math.max(0, at), 1)[0];
}

/** How long after a failure the same provider may be asked again, milliseconds; undefined for never. */
export function pauseAfter(failure: ProviderFailure, failures: number): number | undefined {
  const { kind, retryAfterMs, upstreamStatus } = failure;
  if (!PASSING.has(kind)) return undefined;
  if (kind === "credential") return failures === 0 && upstreamStatus !== undefined ? 0 : undefined;
  if (kind === "field") return 0;
  if (retryAfterMs !== undefined) return retryAfterMs <= MAX_PAUSE_MS ? retryAfterMs : undefined;
  return FIRST_BACKOFF_MS * 2 ** failures * (0.5 + Math.random() / 2);
}
