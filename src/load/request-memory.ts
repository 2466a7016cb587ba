import type { IncomingMessage, ServerResponse } from "node:http";
import type { BlockList } from "node:net";
import { whenClosed } from "../kernel/async/when-closed.ts";
import { Slot } from "../kernel/slot.ts";
import type { Principal } from "../keys/auth/principal.ts";
import { hopOf, networkOf, sourceAddress } from "../keys/auth/source-address.ts";
import type { MemoryBudget, MemoryLease, MemoryOwner } from "./memory-budget.ts";
import { type AnswerMemory, OperationMemory } from "./operation-memory.ts";

/**
 * The memory lease of each HTTP request: opened on first use, counted against the client's address until the credential
 * was verified, and released when the response is closed.
 */
export class RequestMemory {
  readonly #budget: MemoryBudget;
  readonly #trustedProxies: BlockList;
  readonly #leases = new Slot<IncomingMessage, MemoryLease>();
  readonly #owners = new Slot<IncomingMessage, MemoryOwner>();
  readonly #countThemselves = new Slot<IncomingMessage, boolean>();

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
    whenClosed(response, () => lease.release());
    return lease;
  }

  /** The lease of a request, opened only when the first bytes are reserved. */
  answerOf(request: IncomingMessage, response: ServerResponse): AnswerMemory {
    return {
      reserve: (bytes) => this.of(request, response).reserve(bytes),
      charge: (bytes) => this.of(request, response).charge(bytes),
    };
  }

  /** The memory of one of several operations on a connection, which `request` opened. */
  operationOf(request: IncomingMessage, principal: Principal): OperationMemory {
    return new OperationMemory(() => this.#budget.open(accountOf(principal) ?? this.#addressOf(request)));
  }

  /** Marks that the reader of this request's body reserves the memory itself. */
  countsItself(request: IncomingMessage): void {
    this.#countThemselves.set(request, true);
  }

  /** Whether the reader of a request's body reserves the memory itself. */
  isCounted(request: IncomingMessage): boolean {
    return this.#countThemselves.get(request) === true;
  }

  /** Counts the memory of a request against its account from now on. */
  identified(request: IncomingMessage, principal: Principal): void {
    const owner = accountOf(principal);
    if (!owner) return;
    this.#owners.set(request, owner);
    this.#leases.get(request)?.assignTo(owner);
  }

  #addressOf(request: IncomingMessage): MemoryOwner {
    const address = sourceAddress(hopOf(request), this.#trustedProxies) ?? "";
    return { kind: "address", id: networkOf(address) };
  }
}

function accountOf(principal: Principal): MemoryOwner | undefined {
  return principal.kind === "anonymous" ? undefined : { kind: "account", id: principal.account };
}
