export type { LiveSnapshot } from "./react/live-store.ts";
export { useClient, useConnection, ZerographProvider } from "./react/provider.tsx";
export { type BalanceAmounts, type UseBalance, useBalance } from "./react/use-balance.ts";
export { type ImageJobStep, type UseImageJob, useImageJob } from "./react/use-image-job.ts";
export { type Live, type UseLiveOptions, useLive } from "./react/use-live.ts";
export {
  type SealedKey,
  type SealedKeyFilter,
  type UsePublishedSealedKey,
  usePublishedSealedKey,
} from "./react/use-published-sealed-key.ts";
