import { AppError } from "../kernel/errors.ts";

/** How much memory requests may hold together, and how much of it one owner, bytes. */
export type MemoryLimits = {
  readonly totalBytes: number;
  /** Of one account, for requests with a valid credential of it. */
  readonly perAccountBytes: number;
  /** Of one network address, for requests without a credential or before it was checked. */
  readonly perAddressBytes: number;
  /** Of all addresses: the rest is kept for valid credentials. */
  readonly addressesBytes: number;
};

/** Whose share of the budget a lease counts against. */
export type MemoryOwner = { readonly kind: "address" | "account"; readonly id: string };

/** The share of the total that one account, one address and all addresses may hold. */
const ACCOUNT_SHARE = 1 / 2;
const ADDRESS_SHARE = 1 / 3;
const ADDRESSES_SHARE = 1 / 2;
const RETRY_AFTER_SECONDS = 1;

/** The usual limits within a total: half of it for one account, a third for one address, half for all addresses. */
export function memoryLimits(totalBytes: number): MemoryLimits {
  return {
    totalBytes,
    perAccountBytes: Math.floor(totalBytes * ACCOUNT_SHARE),
    perAddressBytes: Math.floor(totalBytes * ADDRESS_SHARE),
    addressesBytes: Math.floor(totalBytes * ADDRESSES_SHARE),
  };
}

/**
 * The memory that requests under way may hold in this process: bodies that are being read or worked on, and answers
 * that are being built or that their client has not read yet. Whoever needs more than a few kilobytes reserves them
 * before allocating; what does not fit is refused with `overloaded` (503 with `Retry-After`) instead of allocated.
 */
export class MemoryBudget {
  readonly #limits: MemoryLimits;
  readonly #refused: () => void;
  readonly #byOwner = new Map<string, number>();
  #usedBytes = 0;
  #addressesBytes = 0;

  /** `refused` is called for each reservation that does not fit. */
  constructor(limits: MemoryLimits, refused: () => void = () => {}) {
    this.#limits = limits;
    this.#refused = refused;
  }

  /** Bytes held now. Answers that were paid for may take it above the total. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The part of the total that is held; above 1 when it is exceeded. */
  get usedShare(): number {
    return this.#usedBytes / this.#limits.totalBytes;
  }

  /** Opens a lease for one request. It holds nothing yet. */
  open(owner: MemoryOwner): MemoryLease {
    return new MemoryLease(owner, {
      reserve: (of, bytes) => this.#reserve(of, bytes),
      add: (of, bytes) => this.#add(of, bytes),
      shareOf: (of) => this.#shareOf(of),
    });
  }

  #shareOf({ kind }: MemoryOwner): number {
    const { perAccountBytes, perAddressBytes } = this.#limits;
    return kind === "address" ? perAddressBytes : perAccountBytes;
  }

  #reserve(owner: MemoryOwner, bytes: number): void {
    const { totalBytes, addressesBytes } = this.#limits;
    const isAddress = owner.kind === "address";
    const share = this.#shareOf(owner);
    const held = this.#byOwner.get(keyOf(owner)) ?? 0;
    const isCrowded = isAddress && this.#addressesBytes + bytes > addressesBytes;
    if (this.#usedBytes + bytes > totalBytes || held + bytes > share || isCrowded) {
      this.#refused();
      throw new AppError("overloaded", "Requests hold too much memory. Try again later.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    this.#add(owner, bytes);
  }

  #add(owner: MemoryOwner, bytes: number): void {
    const key = keyOf(owner);
    const held = (this.#byOwner.get(key) ?? 0) + bytes;
    if (held === 0) this.#byOwner.delete(key);
    else this.#byOwner.set(key, held);
    this.#usedBytes += bytes;
    if (owner.kind === "address") this.#addressesBytes += bytes;
  }
}

type Account = {
  reserve(owner: MemoryOwner, bytes: number): void;
  add(owner: MemoryOwner, bytes: number): void;
  shareOf(owner: MemoryOwner): number;
};

/** What one request holds of the budget. It is released once, as a whole, when the response is closed. */
export class MemoryLease {
  readonly #account: Account;
  #owner: MemoryOwner;
  #bytes = 0;
  #isReleased = false;

  constructor(owner: MemoryOwner, account: Account) {
    this.#owner = owner;
    this.#account = account;
  }

  /** What it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What it could hold if its owner had no other request under way. */
  get largestBytes(): number {
    return this.#account.shareOf(this.#owner);
  }

  /** Reserves memory before it is allocated. Throws `overloaded` when it does not fit, and holds nothing more then. */
  reserve(bytes: number): void {
    if (this.#isReleased) return;
    this.#account.reserve(this.#owner, bytes);
    this.#bytes += bytes;
  }

  /** Counts memory that is allocated already and must not be refused any more, such as an answer that was paid for. */
  charge(bytes: number): void {
    if (this.#isReleased) return;
    this.#account.add(this.#owner, bytes);
    this.#bytes += bytes;
  }

  /** Counts it against another owner from now on: the account, once the credential is known to be valid. */
  assignTo(owner: MemoryOwner): void {
    if (this.#isReleased) return;
    if (this.#bytes > 0) {
      this.#account.add(this.#owner, -this.#bytes);
      this.#account.add(owner, this.#bytes);
    }
    this.#owner = owner;
  }

  /** Gives everything back. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (this.#bytes > 0) this.#account.add(this.#owner, -this.#bytes);
  }
}

function keyOf({ kind, id }: MemoryOwner): string {
  return `${kind} ${id}`;
}
