/**
 * The pure modules in which an error costs money or safety, with their files: what is mutated. Stores are not: what
 * they do is SQL in texts, which the tests on PostgreSQL and the simulation check.
 */
export const MODULES = {
  pricing: [
    "src/inference/billing/pricing.ts",
    "src/inference/billing/finer-price.ts",
    "src/inference/billing/usage.ts",
    "src/inference/billing/prompt-bound.ts",
    "src/inference/routing/routing-preferences.ts",
  ],
  choice: [
    "src/inference/routing/choice.ts",
    "src/inference/routing/evidence-floor.ts",
    "src/inference/routing/offer-rules.ts",
    "src/inference/routing/ranking.ts",
    "src/inference/routing/retry-plan.ts",
    "src/inference/providers/provider.ts",
  ],
  settlement: [
    "src/inference/billing/admitted.ts",
    "src/inference/billing/billing.service.ts",
    "src/inference/images/jobs/image-job-billing.service.ts",
    "src/inference/images/jobs/image-job.state.ts",
  ],
  restrictions: ["src/keys/api-keys/check-key-settings.ts", "src/keys/api-keys/reset-period.ts"],
  policy: [
    "gateway/federation/policy/cost.ts",
    "gateway/federation/policy/measure.ts",
    "gateway/federation/policy/introspection-cost.ts",
    "gateway/federation/policy/input-limits.ts",
    "gateway/federation/policy/input-usages.ts",
    "gateway/federation/policy/text-limits.ts",
    "subgraphs/shared/schema/root-requests.ts",
  ],
  jobs: ["src/jobs/job.state.ts", "src/inference/images/jobs/image-job-plan.ts"],
  merkle: [
    "src/storage/merkle/file-tree.ts",
    "src/storage/merkle/proof.ts",
    "src/storage/merkle/segment-tree.ts",
    "src/storage/merkle/shape.ts",
    "src/storage/node/segment-check.ts",
  ],
  amounts: ["src/kernel/text/amount.ts"],
  addresses: ["src/kernel/address-guard.ts"],
  events: [
    "src/events/event-cursors.ts",
    "src/events/readers.ts",
    "src/events/replayed-stream.ts",
    "src/events/snapshot-stream.ts",
    "src/events/bus.memory.ts",
    "src/kernel/async/push-iterator.ts",
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;
