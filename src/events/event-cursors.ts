import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { decodeCursor, invalidCursor } from "../kernel/page.ts";

const BLOCK_BYTES = 16;
const ZEROS = Buffer.alloc(BLOCK_BYTES / 2);
const MAX_POSITION = 2n ** 63n - 1n;

/**
 * Event cursors for clients. A position would reveal the number of events of the whole router, so a cursor is the
 * position encrypted under a key of this deployment: one AES-256 block, half of it zeros, so that a forged cursor is
 * detected. A position has the same cursor in every process and after every restart.
 */
export class EventCursors {
  readonly #key: Buffer;
  readonly #plainUntilMs: number;
  /** Memoized, because one event is delivered to thousands of readers in a row. */
  #last = { position: -1n, cursor: "" };

  /**
   * `secret` is specific to the deployment, at least 32 bytes of text. Until `plainUntil`, the unencrypted cursors of
   * the previous version are also accepted.
   */
  constructor(secret: string, plainUntil = new Date(0)) {
    this.#plainUntilMs = plainUntil.getTime();
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "zerograph event cursors", 32));
  }

  /** The cursor of a position. */
  seal(position: bigint): string {
    if (position !== this.#last.position) this.#last = { position, cursor: this.#encrypt(position) };
    return this.#last.cursor;
  }

  /** The position in a cursor. Throws `invalid_cursor` unless `seal` produced it with the same secret. */
  open(cursor: string): bigint {
    const bytes = Buffer.from(cursor, "base64url");
    if (bytes.length !== BLOCK_BYTES && Date.now() < this.#plainUntilMs) return plainPosition(cursor);
    if (bytes.length !== BLOCK_BYTES || bytes.toString("base64url") !== cursor) throw invalidCursor();
    const decipher = createDecipheriv("aes-256-ecb", this.#key, null).setAutoPadding(false);
    const block = Buffer.concat([decipher.update(bytes), decipher.final()]);
    const position = block.readBigUInt64BE(ZEROS.length);
    if (!block.subarray(0, ZEROS.length).equals(ZEROS) || position > MAX_POSITION) throw invalidCursor();
    return position;
  }

  #encrypt(position: bigint): string {
    const block = Buffer.alloc(BLOCK_BYTES);
    block.writeBigInt64BE(position, ZEROS.length);
    const cipher = createCipheriv("aes-256-ecb", this.#key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(block), cipher.final()]).toString("base64url");
  }
}

function plainPosition(cursor: string): bigint {
  const [text = ""] = decodeCursor(cursor, "event", 1);
  if (!/^(0|[1-9]\d{0,18})$/.test(text) || BigInt(text) > MAX_POSITION) throw invalidCursor();
  return BigInt(text);
}
