import type { IncomingMessage, ServerResponse } from "node:http";
import type { BlockList } from "node:net";
import { Slot } from "../kernel/slot.ts";
import type { Principal } from "../keys/principal.ts";
import { hopOf, networkOf, sourceAddress } from "../keys/source-address.ts";
import type { MemoryBudget, MemoryLease, MemoryOwner } from "./memory-budget.ts";

/**
 * The memory lease of each HTTP request: opened when something first needs one, counted against the client's address
 * until its credential was checked, and released when the response is closed.
 */
export class RequestMemory {
  readonly #budget: MemoryBudget;
  readonly #trustedProxies: BlockList;
  readonly #leases = new Slot<IncomingMessage, MemoryLease>();
  readonly #owners = new Slot<IncomingMessage, MemoryOwner>();

  constructor(budget: MemoryBudget, trustedProxies: BlockList) {
    this.#budget = budget;
    this.#trustedProxies = trustedProxies;
  }

  /** The lease of a request. */
  of(request: IncomingMessage, response: ServerResponse): MemoryLease {
    const known = this.#leases.get(request);
    if (known) return known;
    const lease = this.#budget.open(this.#owners.get(request) ?? this.#addressOf(request));
    this.#leases.set(request, lease);
    if (response.closed) lease.release();
    else response.once("close", () => lease.release());
    return lease;
  }

  /** Counts what a request holds against its account from now on. */
  identified(request: IncomingMessage, principal: Principal): void {
    if (principal.kind === "anonymous") return;
    const owner = { kind: "account", id: principal.account } as const;
    this.#owners.set(request, owner);
    this.#leases.get(request)?.assignTo(owner);
  }

  #addressOf(request: IncomingMessage): MemoryOwner {
    const address = sourceAddress(hopOf(request), this.#trustedProxies) ?? "";
    return { kind: "address", id: networkOf(address) };
  }
}
