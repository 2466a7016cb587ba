import { openAccount } from "../accounts/ledger.store.ts";
import type { Database } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { AppError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import {
  decodeTimeCursor,
  encodeTimeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../kernel/page.ts";
import { ApiKeyRow } from "./api-key.row.ts";
import { hashSecret, newSecret, previewSecret } from "./secret.ts";

/** An `sk-` key as its holder may see it (SPEC 2.2). */
export type ApiKey = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly preview: string;
  readonly permission: string;
  readonly status: "active" | "revoked";
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
};

type Needs = { readonly database: Database; readonly clock: Clock; readonly committed: () => void };

/** Issues, lists and revokes `sk-` keys. */
export class ApiKeyService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Makes a key. This is the only time its secret exists outside the holder's hands: its hash is what is kept. */
  async create(account: string, name: string): Promise<{ key: ApiKey; secret: string }> {
    const secret = newSecret("sk-");
    const row = await this.#needs.database.transaction(async (tx) => {
      await openAccount(tx, account);
      const created = tx.em.create(ApiKeyRow, {
        id: newId(),
        account,
        name,
        secretHash: hashSecret(secret),
        preview: previewSecret(secret),
        permission: "inference",
        createdAt: this.#needs.clock.now(),
        lastUsedAt: null,
        revokedAt: null,
      });
      await tx.em.flush();
      await appendEvents(tx, [keyChanged(created, "created")]);
      return created;
    });
    this.#needs.committed();
    return { key: toApiKey(row), secret };
  }

  /** The keys of an account, oldest first. */
  async list(account: string, page: PageRequest): Promise<Page<ApiKey>> {
    const newer = page.after === undefined ? {} : { $or: newerThan(page.after) };
    const rows = await this.#needs.database
      .em()
      .find(
        ApiKeyRow,
        { account, ...newer },
        { orderBy: { createdAt: "asc", id: "asc" }, limit: pageLimit(page) },
      );
    return toPage(rows.map(toApiKey), page);
  }

  /** The keys with these ids, in their order; undefined where there is none. */
  async byIds(ids: readonly string[]): Promise<readonly (ApiKey | undefined)[]> {
    const rows = await this.#needs.database.em().find(ApiKeyRow, { id: { $in: [...ids] } });
    const byId = new Map(rows.map((row) => [row.id, toApiKey(row)]));
    return ids.map((id) => byId.get(id));
  }

  /**
   * Ends a key for good; ending it twice is once. Throws `not_found` for another account's key as for none. The
   * update waits for the admissions that hold the row, and every later one re-reads it: nothing is billed after.
   */
  async revoke(account: string, id: string): Promise<void> {
    await this.#needs.database.transaction(async (tx) => {
      const row = await tx.em.findOne(ApiKeyRow, { id, account });
      if (!row) throw new AppError("not_found", "There is no such key.");
      if (row.revokedAt) return;
      row.revokedAt = this.#needs.clock.now();
      await tx.em.flush();
      await appendEvents(tx, [keyChanged(row, "revoked")]);
    });
    this.#needs.committed();
  }
}

/** Where a list goes on after this key. */
export function apiKeyCursor(key: ApiKey): string {
  return encodeTimeCursor(key.createdAt, key.id);
}

function newerThan(after: string) {
  const { at, id } = decodeTimeCursor(after);
  return [{ createdAt: { $gt: at } }, { createdAt: at, id: { $gt: id } }];
}

function keyChanged(row: ApiKeyRow, change: "created" | "revoked") {
  const data = { account: row.account, keyId: row.id, kind: "api-key", change } as const;
  return { topic: "key.changed", subject: row.account, data } as const;
}

function toApiKey(row: ApiKeyRow): ApiKey {
  const { id, account, name, preview, permission, createdAt, lastUsedAt, revokedAt } = row;
  const status = revokedAt ? "revoked" : "active";
  return { id, account, name, preview, permission, status, createdAt, lastUsedAt: lastUsedAt ?? null };
}
