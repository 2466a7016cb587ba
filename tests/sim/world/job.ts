import { demand } from "../fault.ts";
import type { SimExchange } from "./provider.ts";

/** How often one attempt of a job may be sent, and how many attempts there may be. */
const SUBMISSIONS = 2;
const ATTEMPTS = 3;

/** One image job of a simulated client: what it asked, what its providers made, and so what it may be charged. */
export class SimJob {
  readonly id: string;
  readonly requestId: string;
  readonly account: string;
  readonly keyId: string;
  readonly images: number;
  /** Something out of the product's hands befell it: nobody heard of its hold, or its hold ran out. */
  isDisturbed = false;
  readonly #submissions = new Map<string, number>();
  /** What it costs as each provider made it, neuron, by address. */
  readonly #made = new Map<string, Set<bigint>>();

  constructor(given: Pick<SimJob, "id" | "requestId" | "account" | "keyId" | "images">) {
    this.id = given.id;
    this.requestId = given.requestId;
    this.account = given.account;
    this.keyId = given.keyId;
    this.images = given.images;
  }

  /** The product sends it to a provider. */
  submitted({ key }: SimExchange): void {
    const count = (this.#submissions.get(key) ?? 0) + 1;
    this.#submissions.set(key, count);
    demand(count <= SUBMISSIONS, `the attempt ${key} was sent ${count} times`);
    demand(
      this.#submissions.size <= ATTEMPTS,
      `job ${this.id} was attempted ${this.#submissions.size} times`,
    );
  }

  /** A provider says that it made so many images. */
  made({ provider }: SimExchange, images: number): void {
    const costs = this.#made.get(provider.address) ?? new Set();
    costs.add(BigInt(Math.min(images, this.images)) * provider.outputPrice);
    this.#made.set(provider.address, costs);
  }

  /** Whether this is a bill that it may have: for what its provider made, once it is completed, and else nothing. */
  owes(outcome: string, provider: string, charged: bigint): boolean {
    if (outcome !== "completed") return charged === 0n;
    return this.#made.get(provider)?.has(charged) ?? false;
  }
}
