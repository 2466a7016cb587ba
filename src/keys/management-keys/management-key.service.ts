import { LockMode, UniqueConstraintViolationException } from "@mikro-orm/core";
import { openAccount } from "../../accounts/ledger.store.ts";
import type { Database, Transaction } from "../../db/database.ts";
import { appendEvents } from "../../events/outbox.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  decodeTimeCursor,
  encodeTimeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../../kernel/page.ts";
import { isId, newId } from "../../kernel/text/ids.ts";
import { readKeyName } from "../api-keys/key-name.ts";
import { chooseScopes, type Preset, presetOf, type ScopeChoice } from "../api-keys/preset.ts";
import type { Scope } from "../auth/principal.ts";
import { hashSecret, newSecret, previewSecret } from "../auth/secret.ts";
import { ManagementKeyRow } from "./management-key.row.ts";

/** An `mk-` key as its account sees it (SPEC 2.3). It never expires. */
export type ManagementKey = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly preview: string;
  readonly scopes: readonly Scope[];
  readonly preset: Preset;
  readonly status: "active" | "revoked";
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly lastSourceIp: string | null;
};

/** A change of a key; undefined fields are left unchanged. */
export type ManagementKeyChange = ScopeChoice & { readonly name?: string | undefined };

type Dependencies = { readonly database: Database; readonly clock: Clock; readonly committed: () => void };

/** Issues, lists, changes and revokes `mk-` keys. The APIs ensure that the caller has a wallet session. */
export class ManagementKeyService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates a key with these scopes. The secret is only returned here; only its hash is stored. Throws `duplicate_name`
   * if another active key of the account has the name, and `invalid_parameter` for an invalid name.
   */
  async create(
    account: string,
    name: string,
    scopes: readonly Scope[],
  ): Promise<{ key: ManagementKey; secret: string }> {
    const secret = newSecret("mk-");
    const row = await this.#write(async (tx) => {
      await openAccount(tx, account);
      const created = tx.em.create(ManagementKeyRow, {
        id: newId(),
        account,
        name: readKeyName(name),
        secretHash: hashSecret(secret),
        preview: previewSecret(secret),
        scopes: chooseScopes({ scopes }) ?? [],
        createdAt: this.#dependencies.clock.now(),
        lastUsedAt: null,
        lastSourceIp: null,
        revokedAt: null,
      });
      await commitChange(tx, created, "created");
      return created;
    });
    return { key: toManagementKey(row), secret };
  }

  /** The keys of an account, oldest first, optionally of one status. */
  async list(
    account: string,
    page: PageRequest,
    status?: ManagementKey["status"] | undefined,
  ): Promise<Page<ManagementKey>> {
    const newer = page.after === undefined ? {} : newerThan(page.after);
    const revokedAt = status === undefined ? {} : { revokedAt: status === "active" ? null : { $ne: null } };
    const rows = await this.#dependencies.database
      .em()
      .find(
        ManagementKeyRow,
        { account, ...newer, ...revokedAt },
        { orderBy: { createdAt: "asc", id: "asc" }, limit: pageLimit(page) },
      );
    return toPage(rows.map(toManagementKey), page);
  }

  /**
   * Changes an active key; new scopes apply from its next request. Throws `management_key_not_found`, also for another
   * account's key, `key_revoked`, `duplicate_name` and `invalid_parameter`.
   */
  async update(account: string, id: string, change: ManagementKeyChange): Promise<ManagementKey> {
    const scopes = chooseScopes(change);
    const row = await this.#write(async (tx) => {
      const found = await lockKey(tx, account, id);
      if (found.revokedAt) throw new AppError("key_revoked", "This key was revoked: it cannot be changed.");
      if (change.name === undefined && !scopes) return found;
      if (change.name !== undefined) found.name = readKeyName(change.name);
      if (scopes) found.scopes = scopes;
      await commitChange(tx, found, "updated");
      return found;
    });
    return toManagementKey(row);
  }

  /** Revokes a key. Idempotent. Throws `management_key_not_found`, also for another account's key. */
  async revoke(account: string, id: string): Promise<ManagementKey> {
    const row = await this.#write(async (tx) => {
      const found = await lockKey(tx, account, id);
      if (found.revokedAt) return found;
      found.revokedAt = this.#dependencies.clock.now();
      await commitChange(tx, found, "revoked");
      return found;
    });
    return toManagementKey(row);
  }

  async #write(work: (tx: Transaction) => Promise<ManagementKeyRow>): Promise<ManagementKeyRow> {
    try {
      const row = await this.#dependencies.database.transaction(work);
      this.#dependencies.committed();
      return row;
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new AppError("duplicate_name", "Another key of this account has this name.", {
        param: "name",
        cause: error,
      });
    }
  }
}

/** The cursor after which a list resumes. */
export function managementKeyCursor(key: ManagementKey): string {
  return encodeTimeCursor(key.createdAt, key.id);
}

async function lockKey(tx: Transaction, account: string, id: string): Promise<ManagementKeyRow> {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const row = isId(id) ? await tx.em.findOne(ManagementKeyRow, { id, account }, { lockMode }) : null;
  if (!row) throw new AppError("management_key_not_found", "There is no such key.");
  return row;
}

async function commitChange(
  tx: Transaction,
  { id: keyId, account }: ManagementKeyRow,
  change: "created" | "updated" | "revoked",
): Promise<void> {
  await tx.em.flush();
  const data = { account, keyId, kind: "management-key", change } as const;
  await appendEvents(tx, [{ topic: "key.changed", subject: account, data }]);
}

/** The first condition is an index range; the second excludes rows of the same time that were already listed. */
function newerThan(after: string) {
  const { at, id } = decodeTimeCursor(after);
  return { createdAt: { $gte: at }, $or: [{ createdAt: { $gt: at } }, { id: { $gt: id } }] };
}

function toManagementKey(row: ManagementKeyRow): ManagementKey {
  const { id, account, name, preview, scopes, createdAt, lastUsedAt, lastSourceIp, revokedAt } = row;
  return {
    id,
    account,
    name,
    preview,
    scopes,
    preset: presetOf(scopes),
    status: revokedAt ? "revoked" : "active",
    createdAt,
    lastUsedAt: lastUsedAt ?? null,
    lastSourceIp: lastSourceIp ?? null,
  };
}
