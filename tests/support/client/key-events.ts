import { appendEvents } from "../../../src/events/outbox.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { untilPublished } from "../events.ts";
import { seedAccount } from "../seed.ts";
import type { Stack } from "../stack.ts";

/** A subscription whose events a test can cause in any number. */
export const KEYS = "subscription Keys($after: Cursor) { keyChanged(after: $after) { id cursor at keyId } }";

/** The result of `KEYS`. */
export type KeysData = { readonly keyChanged: { readonly id: string; readonly keyId: string } };

/** Counted events of an account. */
export type KeyEvents = {
  readonly account: string;
  /** An `mk-` key that may follow them, and the account's balance. */
  readonly secret: string;
  /** Causes as many, in one transaction; their `keyId` counts them from 1. */
  emit(count?: number): Promise<void>;
  /** All of them so far. */
  readonly emitted: readonly string[];
  /** Revokes the `mk-` key. */
  revoke(): Promise<unknown>;
};

/** Opens an account whose events are caused by the test alone. */
export async function openKeyEvents({ app }: Stack): Promise<KeyEvents> {
  const { database, managementKeys } = app;
  const { account } = await seedAccount(database, 1n);
  const { key, secret } = await managementKeys.create(account, newId(), ["keys:read", "account:read"]);
  await untilPublished(database);
  const emitted: string[] = [];
  return {
    account,
    secret,
    emitted,
    async emit(count = 1) {
      const ids = Array.from({ length: count }, (_, at) => String(emitted.length + at + 1));
      const data = { account, kind: "api-key", change: "updated" } as const;
      await database.transaction((tx) =>
        appendEvents(
          tx,
          ids.map((keyId) => ({ topic: "key.changed", subject: account, data: { ...data, keyId } })),
        ),
      );
      emitted.push(...ids);
    },
    revoke: () => managementKeys.revoke(account, key.id),
  };
}
