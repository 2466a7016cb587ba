import { demand } from "../fault.ts";
import type { SimExchange } from "./provider.ts";

/** The maximum submissions of one attempt, and the maximum number of attempts. */
const SUBMISSIONS = 2;
const ATTEMPTS = 3;

/** One image job of a simulated client: its request, what its providers made, and so the possible charges. */
export class SimJob {
  readonly id: string;
  readonly requestId: string;
  readonly account: string;
  readonly keyId: string;
  readonly images: number;
  /**
   * It was affected by something outside the product's control: the answer to its hold was lost, or its hold
   * expired.
   */
  isDisturbed = false;
  readonly #submissions = new Map<string, number>();
  /** Its cost as each provider made it, neuron, by address. */
  readonly #made = new Map<string, Set<bigint>>();

  constructor(given: Pick<SimJob, "id" | "requestId" | "account" | "keyId" | "images">) {
    this.id = given.id;
    this.requestId = given.requestId;
    this.account = given.account;
    this.keyId = given.keyId;
    this.images = given.images;
  }

  /** The product submits it to a provider. */
  submitted({ key }: SimExchange): void {
    const count = (this.#submissions.get(key) ?? 0) + 1;
    this.#submissions.set(key, count);
    demand(count <= SUBMISSIONS, `the attempt ${key} was sent ${count} times`);
    demand(
      this.#submissions.size <= ATTEMPTS,
      `job ${this.id} was attempted ${this.#submissions.size} times`,
    );
  }

  /** A provider reports that it made so many images. */
  made({ provider }: SimExchange, images: number): void {
    const costs = this.#made.get(provider.address) ?? new Set();
    costs.add(BigInt(Math.min(images, this.images)) * provider.outputPrice);
    this.#made.set(provider.address, costs);
  }

  /**
   * Whether this is a permitted charge: what its provider made, once it is completed, and otherwise nothing.
   */
  owes(outcome: string, provider: string, charged: bigint): boolean {
    if (outcome !== "completed") return charged === 0n;
    return this.#made.get(provider)?.has(charged) ?? false;
  }
}
