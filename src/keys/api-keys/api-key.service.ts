import { type FilterQuery, LockMode, UniqueConstraintViolationException } from "@mikro-orm/core";
import { recountSpending } from "../../accounts/key-spending.ts";
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
import { hashSecret, newSecret, previewSecret } from "../auth/secret.ts";
import { ApiKeyRow } from "./api-key.row.ts";
import { checkKeySettings } from "./check-key-settings.ts";
import type { KeyRestrictions, KeySettings } from "./key-settings.ts";
import { periodStart } from "./reset-period.ts";

/** Whether a key may be used. */
export const KEY_STATUSES = ["active", "revoked", "expired"] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

/** An `sk-` key as its account sees it (SPEC 2.2, facts 1.3). */
export type ApiKey = KeySettings & {
  readonly id: string;
  readonly account: string;
  readonly preview: string;
  readonly permission: string;
  readonly status: KeyStatus;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** The amount charged in the current period, neuron. */
  readonly used: bigint;
};

type Dependencies = { readonly database: Database; readonly clock: Clock; readonly committed: () => void };

/** Issues, lists, changes and revokes `sk-` keys. */
export class ApiKeyService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates a key, by default without limits. The secret is only returned here; only its hash is stored. Throws
   * `duplicate_name`, and `invalid_parameter` for invalid settings.
   */
  async create(
    account: string,
    name: string,
    settings: Partial<Omit<KeySettings, "name">> = {},
  ): Promise<{ key: ApiKey; secret: string }> {
    const now = this.#dependencies.clock.now();
    const checked = checkKeySettings({ name, ...settings }, now);
    const secret = newSecret("sk-");
    const row = await this.#commit(async (tx) => {
      await openAccount(tx, account);
      const created = tx.em.create(ApiKeyRow, {
        id: newId(),
        account,
        name: checked.name ?? name,
        secretHash: hashSecret(secret),
        preview: previewSecret(secret),
        permission: "inference",
        createdAt: now,
        lastUsedAt: null,
        revokedAt: null,
        expiresAt: checked.expiresAt ?? null,
        creditLimit: checked.creditLimit ?? null,
        resetPeriod: checked.resetPeriod ?? "never",
        allowedModels: checked.allowedModels ?? [],
        allowedProviders: checked.allowedProviders ?? [],
        trustMode: checked.trustMode ?? null,
        termsVersion: hasRestrictions(checked) ? 1 : 0,
        used: 0n,
        spentAt: null,
      });
      await flush(tx);
      await appendEvents(tx, [keyChanged(created, "created")]);
      return created;
    });
    return { key: this.#view(row), secret };
  }

  /** The keys of an account, oldest first; of one status, or all. */
  async list(account: string, page: PageRequest, status?: KeyStatus): Promise<Page<ApiKey>> {
    const newer: FilterQuery<ApiKeyRow> = page.after === undefined ? {} : newerThan(page.after);
    const wanted = status === undefined ? {} : withStatus(status, this.#dependencies.clock.now());
    const rows = await this.#dependencies.database
      .em()
      .find(
        ApiKeyRow,
        { $and: [{ account }, newer, wanted] },
        { orderBy: { createdAt: "asc", id: "asc" }, limit: pageLimit(page) },
      );
    return toPage(
      rows.map((row) => this.#view(row)),
      page,
    );
  }

  /** The keys with these ids, in their order; undefined for an unknown id. */
  async byIds(ids: readonly string[]): Promise<readonly (ApiKey | undefined)[]> {
    const rows = await this.#dependencies.database.em().find(ApiKeyRow, { id: { $in: ids.filter(isId) } });
    const byId = new Map(rows.map((row) => [row.id, this.#view(row)]));
    return ids.map((id) => byId.get(id.toLowerCase()));
  }

  /**
   * Changes the given settings and leaves the rest, effective from the next admission in every process. Throws
   * `api_key_not_found`, `duplicate_name`, `key_revoked`, and `invalid_parameter` for invalid settings.
   */
  async update(account: string, id: string, changes: Partial<KeySettings>): Promise<ApiKey> {
    const checked = checkKeySettings(changes, this.#dependencies.clock.now());
    await this.#commit(async (tx) => {
      const row = await lockKey(tx, account, id);
      if (row.revokedAt) throw new AppError("key_revoked", "This key was revoked: it cannot be changed.");
      const hasNewPeriod = checked.resetPeriod !== undefined && checked.resetPeriod !== row.resetPeriod;
      if (hasRestrictions(checked)) row.termsVersion++;
      Object.assign(row, checked);
      await flush(tx);
      if (hasNewPeriod) await recountSpending(tx, id);
      await appendEvents(tx, [keyChanged(row, "updated")]);
    });
    const [key] = await this.byIds([id]);
    if (!key) throw new Error("a key that was changed is gone");
    return key;
  }

  /**
   * Revokes a key. Idempotent. Throws `api_key_not_found`, also for another account's key. The update waits for the
   * admissions that hold the row, and every later one re-reads it: nothing is billed after a revocation.
   */
  async revoke(account: string, id: string): Promise<ApiKey> {
    const row = await this.#commit(async (tx) => {
      const found = await lockKey(tx, account, id);
      if (found.revokedAt) return found;
      found.revokedAt = this.#dependencies.clock.now();
      await tx.em.flush();
      await appendEvents(tx, [keyChanged(found, "revoked")]);
      return found;
    });
    return this.#view(row);
  }

  /** The current restrictions of a key. Throws `api_key_revoked` or `api_key_expired` for one that is not active. */
  async restrictionsOf(id: string): Promise<KeyRestrictions> {
    const row = await this.#dependencies.database.em().findOne(ApiKeyRow, { id });
    if (!row || row.revokedAt) throw new AppError("api_key_revoked", "This key was revoked.");
    if (statusOf(row, this.#dependencies.clock.now()) === "expired")
      throw new AppError("api_key_expired", "This key has expired.");
    const { termsVersion, allowedModels, allowedProviders, trustMode } = row;
    return {
      version: termsVersion,
      models: allowedModels,
      providers: allowedProviders,
      trustMode: trustMode ?? null,
    };
  }

  async #commit<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await this.#dependencies.database.transaction(work);
    this.#dependencies.committed();
    return result;
  }

  #view(row: ApiKeyRow): ApiKey {
    const now = this.#dependencies.clock.now();
    const start = periodStart(row.resetPeriod, now);
    const isOfThisPeriod = start === null || (row.spentAt != null && row.spentAt >= start);
    return {
      id: row.id,
      account: row.account,
      name: row.name,
      preview: row.preview,
      permission: row.permission,
      status: statusOf(row, now),
      createdAt: row.createdAt,
      lastUsedAt: row.lastUsedAt ?? null,
      expiresAt: row.expiresAt ?? null,
      creditLimit: row.creditLimit ?? null,
      resetPeriod: row.resetPeriod,
      used: isOfThisPeriod ? row.used : 0n,
      allowedModels: row.allowedModels,
      allowedProviders: row.allowedProviders,
      trustMode: row.trustMode ?? null,
    };
  }
}

/** The cursor after which a list resumes. */
export function apiKeyCursor(key: ApiKey): string {
  return encodeTimeCursor(key.createdAt, key.id);
}

/** The first condition is an index range; the second excludes rows of the same time that were already listed. */
function newerThan(after: string) {
  const { at, id } = decodeTimeCursor(after);
  return { createdAt: { $gte: at }, $or: [{ createdAt: { $gt: at } }, { id: { $gt: id } }] };
}

function withStatus(status: KeyStatus, now: Date): FilterQuery<ApiKeyRow> {
  switch (status) {
    case "revoked":
      return { revokedAt: { $ne: null } };
    case "expired":
      return { revokedAt: null, expiresAt: { $lte: now } };
    case "active":
      return { revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] };
  }
}

function statusOf(row: ApiKeyRow, now: Date): KeyStatus {
  if (row.revokedAt) return "revoked";
  return row.expiresAt && row.expiresAt <= now ? "expired" : "active";
}

function hasRestrictions({ allowedModels, allowedProviders, trustMode }: Partial<KeySettings>): boolean {
  return allowedModels !== undefined || allowedProviders !== undefined || trustMode !== undefined;
}

/** Reads and locks a key for a change. Its admissions and settlements wait until the transaction ends. */
async function lockKey(tx: Transaction, account: string, id: string): Promise<ApiKeyRow> {
  const row =
    isId(id) && (await tx.em.findOne(ApiKeyRow, { id, account }, { lockMode: LockMode.PESSIMISTIC_WRITE }));
  if (!row) throw new AppError("api_key_not_found", "There is no such key.");
  return row;
}

async function flush(tx: Transaction): Promise<void> {
  try {
    await tx.em.flush();
  } catch (error) {
    if (!(error instanceof UniqueConstraintViolationException)) throw error;
    throw new AppError("duplicate_name", "Another key of this account has this name.", { param: "name" });
  }
}

function keyChanged(row: ApiKeyRow, change: "created" | "updated" | "revoked") {
  const data = { account: row.account, keyId: row.id, kind: "api-key", change } as const;
  return { topic: "key.changed", subject: row.account, data } as const;
}
