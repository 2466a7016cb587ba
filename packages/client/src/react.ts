export type { ImageJobStep, UseImageJob } from "./react/image-job.ts";
export type { LiveSnapshot } from "./react/live-store.ts";
export { useClient, useConnection, ZerographProvider } from "./react/provider.tsx";
export { type BalanceAmounts, type UseBalance, useBalance } from "./react/use-balance.ts";
export { useImageJob } from "./react/use-image-job.ts";
export { type Live, type UseLiveOptions, useLive } from "./react/use-live.ts";
export {
  type SealedKey,
  type SealedKeyFilter,
  type UsePublishedSealedKey,
  usePublishedSealedKey,
} from "./react/use-published-sealed-key.ts";
