import { AppError } from "../kernel/errors.ts";

/** How much memory requests may hold in total and per owner, bytes. */
export type MemoryLimits = {
  readonly totalBytes: number;
  /** Per account, for requests with a valid credential. */
  readonly perAccountBytes: number;
  /** Per network address, for requests without a credential or before it was checked. */
  readonly perAddressBytes: number;
  /** For all addresses together: the rest is reserved for valid credentials. */
  readonly addressesBytes: number;
};

/** The owner against whose share of the budget a lease counts. */
export type MemoryOwner = { readonly kind: "address" | "account"; readonly id: string };

/** The share of the total that one account, one address and all addresses may hold. */
const ACCOUNT_SHARE = 1 / 2;
const ADDRESS_SHARE = 1 / 3;
const ADDRESSES_SHARE = 1 / 2;
const RETRY_AFTER_SECONDS = 1;

/** A body is held as the received chunks, then as one buffer, then as text or values. */
export const BODY_COPIES = 3;

/** The size of the largest body that one account can send within a total, bytes. */
export function largestBodyBytes(totalBytes: number): number {
  return Math.floor(memoryLimits(totalBytes).perAccountBytes / BODY_COPIES);
}

/** The default limits of a total: half for one account, a third for one address, half for all addresses. */
export function memoryLimits(totalBytes: number): MemoryLimits {
  return {
    totalBytes,
    perAccountBytes: Math.floor(totalBytes * ACCOUNT_SHARE),
    perAddressBytes: Math.floor(totalBytes * ADDRESS_SHARE),
    addressesBytes: Math.floor(totalBytes * ADDRESSES_SHARE),
  };
}

/**
 * The memory that active requests may hold in this process: bodies that are being read or processed, and responses that
 * are being built or not yet read by the client. Code that needs more than a few kilobytes reserves them before
 * allocating; a reservation that does not fit throws `overloaded` (503 with `Retry-After`).
 */
export class MemoryBudget {
  readonly #limits: MemoryLimits;
  readonly #refused: () => void;
  readonly #byOwner = new Map<string, number>();
  readonly #account: Account = {
    reserve: (of, bytes) => this.#reserve(of, bytes),
    add: (of, bytes) => this.#add(of, bytes),
    shareOf: (of) => this.#shareOf(of),
  };
  #usedBytes = 0;
  #addressesBytes = 0;

  /** `refused` is called for each reservation that does not fit. */
  constructor(limits: MemoryLimits, refused: () => void = () => {}) {
    this.#limits = limits;
    this.#refused = refused;
  }

  /** Bytes held now. Paid responses may exceed the total. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The held share of the total; above 1 if it is exceeded. */
  get usedShare(): number {
    return this.#usedBytes / this.#limits.totalBytes;
  }

  /** Opens a lease for one request. It holds nothing yet. */
  open(owner: MemoryOwner): MemoryLease {
    return new MemoryLease(owner, this.#account);
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

/** The memory that one request holds. It is released once, as a whole, when the response is closed. */
export class MemoryLease {
  readonly #account: Account;
  #owner: MemoryOwner;
  #bytes = 0;
  #isReleased = false;

  constructor(owner: MemoryOwner, account: Account) {
    this.#owner = owner;
    this.#account = account;
  }

  /** The bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reserves memory before it is allocated. Throws `overloaded` if it does not fit; the lease is then unchanged. */
  reserve(bytes: number): void {
    if (this.#isReleased) return;
    this.#account.reserve(this.#owner, bytes);
    this.#bytes += bytes;
  }

  /** Like `reserve`, for a body; throws `body_too_large` where `requireShare` does. */
  reserveBody(bytes: number): void {
    this.requireShare(bytes);
    this.reserve(bytes);
  }

  /**
   * Throws `body_too_large` for a body that does not fit even while its owner has no other request: with `overloaded`
   * its client would send it again and again.
   */
  requireShare(bytes: number): void {
    const limit = this.#account.shareOf(this.#owner);
    if (this.#bytes + bytes > limit)
      throw new AppError(
        "body_too_large",
        `This body needs more memory than one caller may hold here, ${limit} bytes. Send smaller requests.`,
      );
  }

  /** Counts memory that is already allocated and can no longer be refused, such as a paid response. */
  charge(bytes: number): void {
    if (this.#isReleased) return;
    this.#account.add(this.#owner, bytes);
    this.#bytes += bytes;
  }

  /** Moves the lease to another owner: the account, once the credential was verified. */
  assignTo(owner: MemoryOwner): void {
    if (this.#isReleased) return;
    if (this.#bytes > 0) {
      this.#account.add(this.#owner, -this.#bytes);
      this.#account.add(owner, this.#bytes);
    }
    this.#owner = owner;
  }

  /** Releases everything. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (this.#bytes > 0) this.#account.add(this.#owner, -this.#bytes);
  }
}

function keyOf({ kind, id }: MemoryOwner): string {
  return `${kind} ${id}`;
}
