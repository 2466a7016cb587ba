import type { Provider } from "../providers/provider.ts";

/** One try of a request, as whoever carries it out sees it. */
export type AttemptOptions = {
  readonly provider: Provider;
  /** Whether another provider can still be asked after this one. */
  readonly hasOther: boolean;
  readonly totalMs: number;
  /** To be called when the first byte of the answer is there. */
  firstByte(): void;
};
