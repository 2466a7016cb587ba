import type { Hex } from "../../../kernel/text/hex.ts";
import type { PlacedAgentEvent } from "../log/agent-event.ts";
import type { Origin, Place } from "../log/temporal-rows.ts";
import type { NewSealedKey } from "../sealed-keys/sealed-key.ts";
import { orNull } from "./token-rows.ts";

/** The kinds of events in the history of a token. */
export type TokenEventKind =
  | "minted"
  | "transferred"
  | "burned"
  | "cloned"
  | "key_sealed"
  | "authorized"
  | "revoked"
  | "authorizations_cleared"
  | "data_set";

/** A row of a token's history. `sender` and `receiver` are null where the event has none. */
export type TokenEventRow = Origin & {
  readonly token_id: string;
  readonly kind: TokenEventKind;
  readonly sender: Hex | null;
  readonly receiver: Hex | null;
  /** The clone of the event `cloned`. */
  readonly new_token_id: string | null;
  /** Whether a transfer came with keys. */
  readonly with_key: boolean | null;
};

type Transfer = Place & { readonly with_key: boolean };
type Own = Pick<TokenEventRow, "kind"> &
  Partial<Pick<TokenEventRow, "sender" | "receiver" | "new_token_id" | "with_key">>;

/**
 * One contract's events as rows of the history of their tokens, in the same order; those of no token are left out.
 * `transfers` and `keys` are what the same events were reduced to.
 */
export function toTokenEventRows(
  events: readonly PlacedAgentEvent[],
  transfers: readonly Transfer[],
  keys: readonly NewSealedKey[],
): readonly TokenEventRow[] {
  const moved = new Map(transfers.map((row) => [`${row.block_number} ${row.log_index}`, row.with_key]));
  const sealed = new Map(keys.map((key) => [`${key.blockNumber} ${key.logIndex}`, key]));
  return events.flatMap((event) => {
    const { log } = event;
    const place = `${log.blockNumber} ${log.logIndex}`;
    const own = ownOf(event, moved.get(place) ?? false, sealed.get(place));
    if (!own || !("tokenId" in event)) return [];
    const { sender = null, receiver = null, new_token_id = null, with_key = null } = own;
    return {
      block_number: log.blockNumber.toString(),
      log_index: log.logIndex,
      block_hash: log.blockHash,
      transaction_hash: log.transactionHash,
      token_id: event.tokenId.toString(),
      kind: own.kind,
      sender,
      receiver,
      new_token_id,
      with_key,
    };
  });
}

function ownOf(event: PlacedAgentEvent, withKey: boolean, key: NewSealedKey | undefined): Own | undefined {
  switch (event.kind) {
    case "transferred": {
      const [sender, receiver] = [orNull(event.from), orNull(event.to)];
      const kind = sender === null ? "minted" : receiver === null ? "burned" : "transferred";
      return { kind, sender, receiver, with_key: withKey };
    }
    case "key-published":
      return { kind: "key_sealed", sender: key?.from ?? null, receiver: event.to };
    case "data-set":
    case "datum-set":
      return { kind: "data_set" };
    case "authorized":
      return { kind: "authorized", sender: event.by, receiver: event.user };
    case "revoked":
      return { kind: "revoked", receiver: event.user };
    case "cleared":
      return { kind: "authorizations_cleared" };
    case "cloned":
      return {
        kind: "cloned",
        sender: event.from,
        receiver: event.to,
        new_token_id: event.newTokenId.toString(),
      };
    default:
      return undefined;
  }
}
