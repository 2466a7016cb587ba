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
/** How long a client may leave a response unread before other requests may take its memory. */
const UNREAD_MS = 2_000;

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
  /** The leases whose memory only waits for the client to read it, longest first. */
  readonly #unread = new Map<MemoryLease, Unread>();
  readonly #account: Account = {
    reserve: (of, bytes) => this.#reserve(of, bytes),
    add: (of, bytes) => this.#add(of, bytes),
    shareOf: (of) => this.#shareOf(of),
    fits: (of, bytes) => this.#fits(of, bytes),
    setUnread: (lease, drop) => {
      this.#unread.delete(lease);
      if (drop) this.#unread.set(lease, { drop, sinceMs: performance.now() });
    },
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

  #fits(owner: MemoryOwner, bytes: number): boolean {
    const { totalBytes, addressesBytes } = this.#limits;
    const isCrowded = owner.kind === "address" && this.#addressesBytes + bytes > addressesBytes;
    return this.#usedBytes + bytes <= totalBytes && this.#fitsShare(owner, bytes) && !isCrowded;
  }

  #fitsShare(owner: MemoryOwner, bytes: number): boolean {
    return (this.#byOwner.get(keyOf(owner)) ?? 0) + bytes <= this.#shareOf(owner);
  }

  /**
   * Ends responses that their clients do not read, those that wait longest first, until a reservation fits. Responses
   * of accounts stay: they may have been paid for, and an account can only fill its own share.
   */
  #reclaim(owner: MemoryOwner, bytes: number): void {
    if (bytes > this.#shareOf(owner)) return;
    const latestMs = performance.now() - UNREAD_MS;
    for (const [lease, { drop, sinceMs }] of this.#unread) {
      if (sinceMs > latestMs || this.#fits(owner, bytes)) return;
      const isOwn = keyOf(lease.owner) === keyOf(owner);
      if (lease.owner.kind !== "address" || !(isOwn || this.#fitsShare(owner, bytes))) continue;
      lease.release();
      drop();
    }
  }

  #reserve(owner: MemoryOwner, bytes: number): void {
    if (!this.#fits(owner, bytes)) this.#reclaim(owner, bytes);
    if (!this.#fits(owner, bytes)) {
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
  fits(owner: MemoryOwner, bytes: number): boolean;
  setUnread(lease: MemoryLease, drop: (() => void) | undefined): void;
};

/** `drop` ends the response. */
type Unread = { readonly sinceMs: number; readonly drop: () => void };

/** The memory that one request holds. It is released as a whole when the response is closed. */
export class MemoryLease {
  readonly #account: Account;
  #owner: MemoryOwner;
  #bytes = 0;
  #isReleased = false;

  constructor(owner: MemoryOwner, account: Account) {
    this.#owner = owner;
    this.#account = account;
  }

  /** The owner against whose share the bytes count. */
  get owner(): MemoryOwner {
    return this.#owner;
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

  /** Like `reserve`, but returns whether the bytes fit, and takes no memory of other requests. */
  tryReserve(bytes: number): boolean {
    if (!this.#isReleased && !this.#account.fits(this.#owner, bytes)) return false;
    this.charge(bytes);
    return true;
  }

  /** Gives back some of the bytes held. */
  free(bytes: number): void {
    this.charge(-Math.min(bytes, this.#bytes));
  }

  /**
   * From now on the memory only waits for the client to read. After two seconds, a reservation that does not fit may
   * take the memory of an anonymous client: it then calls `drop`, which must end the response.
   */
  markUnread(drop: () => void): void {
    if (!this.#isReleased) this.#account.setUnread(this, drop);
  }

  /** Ends what `markUnread` began. */
  markRead(): void {
    this.#account.setUnread(this, undefined);
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
    this.#account.setUnread(this, undefined);
    if (this.#bytes > 0) this.#account.add(this.#owner, -this.#bytes);
  }
}

function keyOf({ kind, id }: MemoryOwner): string {
  return `${kind} ${id}`;
}
