import { encodeTimeCursor } from "../../kernel/page.ts";
import type { KeyRow } from "./key.row.ts";

/** What an account sees of every key, `sk-` or `mk-`. */
export type Key = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  /** The beginning of the secret. */
  readonly preview: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
};

/** The part of a stored key that both kinds show. */
export function toKey({ id, account, name, preview, createdAt, lastUsedAt }: KeyRow): Key {
  return { id, account, name, preview, createdAt, lastUsedAt: lastUsedAt ?? null };
}

/** The cursor after which a list of keys resumes. */
export function keyCursor({ createdAt, id }: Pick<Key, "createdAt" | "id">): string {
  return encodeTimeCursor(createdAt, id);
}
