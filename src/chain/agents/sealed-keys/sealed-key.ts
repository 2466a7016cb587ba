import type { NewEvent } from "../../../events/outbox.ts";
import type { DomainEvent, SealedKeyCause, SealedKeyEntry } from "../../../events/topics.ts";
import { encodeChainCursor } from "../../../kernel/page.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { Placed, TokenKey } from "../tokens/token-rows.ts";

/** The keys that one log published for a receiver, aligned with the token's data at that time. */
export type SealedKey = TokenKey &
  Placed & {
    /** `<block hash>-<log index>`: the same log in another block is another sealed key. */
    readonly id: string;
    readonly blockHash: Hex;
    /** The previous owner, or the owner of a clone's original. Null for a mint. */
    readonly from: Hex | null;
    /** The receiver. */
    readonly to: Hex;
    readonly cause: SealedKeyCause;
    /** At most the first 256 of `keyCount`. */
    readonly keys: readonly SealedKeyEntry[];
    readonly keyCount: number;
    /** Whether a reorg reverted it. */
    readonly removed: boolean;
  };

/** A sealed key that is not stored yet. */
export type NewSealedKey = Omit<SealedKey, "seenAt" | "cursor" | "removed">;

/** The list of sealed keys, in its cursors. */
export const SEALED_KEYS = "sealed-keys";

/** An event carries its keys up to this many bytes in total; larger ones are read from the database. */
const MAX_INLINE_KEY_BYTES = 8_192;

/** The event of a sealed key. Its JSON is fixed, because events are replayed by other versions. */
export function toSealedKeyEvent(key: SealedKey): NewEvent<"sealed-key.published"> {
  const bytes = key.keys.reduce((sum, { key: hex }) => sum + hex.length / 2, 0);
  return {
    topic: "sealed-key.published",
    subject: key.to,
    data: {
      sealedKeyId: key.id,
      contract: key.contract,
      tokenId: key.tokenId.toString(),
      from: key.from,
      to: key.to,
      cause: key.cause,
      keys: bytes > MAX_INLINE_KEY_BYTES ? null : key.keys,
      keyCount: key.keyCount,
      blockNumber: key.blockNumber.toString(),
      logIndex: key.logIndex,
      blockHash: key.blockHash,
      transactionHash: key.transactionHash,
      removed: key.removed,
    },
  };
}

/** The sealed key of an event; undefined if it is too long to be included, so that only its id is. */
export function sealedKeyOf({ at, data }: DomainEvent<"sealed-key.published">): SealedKey | undefined {
  const { sealedKeyId, keys, tokenId, blockNumber, ...same } = data;
  if (keys === null) return undefined;
  return {
    ...same,
    id: sealedKeyId,
    keys,
    tokenId: BigInt(tokenId),
    blockNumber: BigInt(blockNumber),
    seenAt: at,
    cursor: encodeChainCursor(SEALED_KEYS, blockNumber, same.logIndex),
  };
}
