import type { Provider } from "../providers/provider.ts";

/** The parameters of one attempt of a request. */
export type AttemptOptions = {
  readonly provider: Provider;
  /** Whether another provider can still be tried after this one. */
  readonly hasOther: boolean;
  readonly totalMs: number;
  /** Must be called when the first byte of the answer arrives. */
  firstByte(): void;
  /** Must be called when an answer of so many tokens has ended. */
  answered(tokens: number): void;
};
