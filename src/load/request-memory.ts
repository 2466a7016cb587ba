import type { IncomingMessage, ServerResponse } from "node:http";
import type { BlockList } from "node:net";
import type { Principal } from "../keys/principal.ts";
import { hopOf, networkOf, sourceAddress } from "../keys/source-address.ts";
import type { MemoryBudget, MemoryLease } from "./memory-budget.ts";

/**
 * The memory lease of each HTTP request: opened when something first needs one, counted against the client's address
 * until its credential was checked, and released when the response is closed.
 */
export class RequestMemory {
  readonly #budget: MemoryBudget;
  readonly #trustedProxies: BlockList;
  readonly #leases = new WeakMap<IncomingMessage, MemoryLease>();

  constructor(budget: MemoryBudget, trustedProxies: BlockList) {
    this.#budget = budget;
    this.#trustedProxies = trustedProxies;
  }

  /** The lease of a request. */
  of(request: IncomingMessage, response: ServerResponse): MemoryLease {
    const known = this.#leases.get(request);
    if (known) return known;
    const address = sourceAddress(hopOf(request), this.#trustedProxies) ?? "";
    const lease = this.#budget.open({ kind: "address", id: networkOf(address) });
    this.#leases.set(request, lease);
    if (response.closed) lease.release();
    else response.once("close", () => lease.release());
    return lease;
  }

  /** Counts what a request holds against its credential from now on. */
  identified(request: IncomingMessage, principal: Principal): void {
    const id = ownerOf(principal);
    if (id !== undefined) this.#leases.get(request)?.assignTo({ kind: "key", id });
  }
}

function ownerOf(principal: Principal): string | undefined {
  if (principal.kind === "anonymous") return undefined;
  return principal.kind === "wallet-session" ? principal.sessionId : principal.keyId;
}
