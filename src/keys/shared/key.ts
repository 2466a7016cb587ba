import type { TopicPayloads } from "../../events/topics.ts";
import { encodeTimeCursor } from "../../kernel/page.ts";
import type { KeyRow } from "./key.row.ts";

/** A kind of key, as in its events and cursors. */
export type KeyKind = TopicPayloads["key.changed"]["kind"];

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

/** The cursor after which the list of the keys of one kind resumes. */
export function keyCursor(kind: KeyKind, { createdAt, id }: Pick<Key, "createdAt" | "id">): string {
  return encodeTimeCursor(kind, createdAt, id);
}
