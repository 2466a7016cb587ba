import type { BatchEndpoint } from "../../../src/inference/batches/batch.ts";
import { PRICES } from "../router.ts";
import type { WholeAnswer } from "./provider-faults.ts";

/** The price of a request's usage at the `n`th provider. */
type CostAt = (n: number) => bigint;

/** A billed route in the runner of provider faults: a request, and how providers answer it, rightly and wrongly. */
export type FaultRow = {
  /** The endpoint of its requests, where each is sent as a line of a batch. */
  readonly lineOf?: BatchEndpoint;
  /** What the `n`th provider offers, besides the model's name. */
  offer(n: number): { readonly pricing: object } & Readonly<Record<string, unknown>>;
  /** The fields of a request, besides its model. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The file of a form; the body has its text fields then. */
  readonly file?: { readonly name: string; readonly bytes: Buffer };
  readonly answer: WholeAnswer;
  /** What that answer costs. */
  readonly cost: CostAt;
  /** By what is wrong with them: answers of status 200 after which another provider is tried. */
  readonly invalid: Readonly<Record<string, WholeAnswer>>;
  /** The size limit of an answer. */
  readonly maxMib: number;
  /** Where a provider reports what it is paid for. */
  readonly usage?: {
    /** The answer with this usage. */
    report(usage: unknown): WholeAnswer;
    /** Usage with these numbers of tokens. */
    of(input: unknown, output: unknown): object;
    /** What the answer costs by our own count. */
    readonly counted: CostAt;
  };
  readonly stream?: {
    /** The events before the first content. */
    readonly head: readonly string[];
    readonly words: readonly string[];
    readonly tail: readonly string[];
    /** A word in the format of another route. */
    readonly foreign: string;
    /** What the first two words cost, when no more were delivered. */
    readonly cutCost: CostAt;
  };
};

/** What the `n`th provider charges for tokens, in the format of PROVIDERS_FILE. */
export const tokenPrices = (n: number) => ({
  prompt: String(PRICES[n]?.prompt),
  completion: String(PRICES[n]?.completion),
});
/** The same, for providers that only read. */
export const promptPrice = (n: number) => ({ prompt: String(PRICES[n]?.prompt) });
/** The price of an image, a second or a character at each provider. */
export const UNIT_PRICES = [20n, 30n] as const;
/** The cost of images, seconds or characters. */
export const units =
  (count: number): CostAt =>
  (n) =>
    BigInt(count) * (UNIT_PRICES[n] ?? 0n);
/** The cost of tokens. */
export const tokens =
  (input: number, output: number): CostAt =>
  (n) =>
    BigInt(input) * (PRICES[n]?.prompt ?? 0n) + BigInt(output) * (PRICES[n]?.completion ?? 0n);
