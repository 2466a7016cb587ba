import type { FailureKind, ProviderFailure } from "../providers/exchange/provider-failure.ts";
import type { ProviderHealth } from "../providers/health/health.service.ts";
import type { Provider } from "../providers/provider.ts";

/** Transient failures, after which the same provider may be retried if there is no other. */
const TRANSIENT: ReadonlySet<FailureKind> = new Set(["unreachable", "failed", "busy", "credential", "field"]);
const FIRST_BACKOFF_MS = 250;
/** Maximum wait for a busy provider. */
const MAX_PAUSE_MS = 10_000;

/**
 * When a provider that requested a pause may be tried: after a short pause, or now if the pause is too long to wait.
 */
export function restEndMs({ restMs }: ProviderHealth, nowMs: number): number {
  return restMs > 0 && restMs <= MAX_PAUSE_MS ? nowMs + restMs : 0;
}

/** Keeps only candidates whose known context is longer than that of `refused`. Returns false if none is. */
export function keepLarger(queue: { readonly provider: Provider }[], refused: Provider): boolean {
  const { contextLength } = refused.profile;
  const isLarger = ({ provider }: { readonly provider: Provider }) =>
    contextLength !== undefined && (provider.profile.contextLength ?? 0) > contextLength;
  queue.splice(0, queue.length, ...queue.filter(isLarger));
  return queue.length > 0;
}

/** Keeps only candidates that may continue an answer of this model: another model would not. */
export function keepContinuing(
  queue: { readonly provider: Provider }[],
  model: string,
  continues: ((provider: Provider) => boolean) | undefined = () => true,
): void {
  const kept = queue.filter(({ provider }) => provider.model === model && continues(provider));
  queue.splice(0, queue.length, ...kept);
}

/**
 * Takes the next candidate: the untried one that is available soonest, unless its circuit has opened since the choice
 * or another request is probing it; if there is none, the first in the queue.
 */
export function takeNext<
  T extends { readonly provider: Provider; readonly failures: number; readonly notBeforeMs: number },
>(queue: T[], isShut: (provider: Provider) => boolean): T | undefined {
  if (queue.length <= 1) return queue.pop();
  const fresh = queue.filter(({ provider, failures }) => failures === 0 && !isShut(provider));
  const soonest = Math.min(...fresh.map(({ notBeforeMs }) => notBeforeMs));
  const at = queue.findIndex((one) => fresh.includes(one) && one.notBeforeMs === soonest);
  return queue.splice(Math.max(0, at), 1)[0];
}

/** Delay before the same provider may be retried after a failure, milliseconds; undefined means never. */
export function pauseAfter(failure: ProviderFailure, failures: number): number | undefined {
  const { kind, retryAfterMs, upstreamStatus } = failure;
  if (!TRANSIENT.has(kind)) return undefined;
  if (kind === "credential") return failures === 0 && upstreamStatus !== undefined ? 0 : undefined;
  if (kind === "field") return 0;
  if (retryAfterMs !== undefined) return retryAfterMs <= MAX_PAUSE_MS ? retryAfterMs : undefined;
  return FIRST_BACKOFF_MS * 2 ** failures * (0.5 + Math.random() / 2);
}
