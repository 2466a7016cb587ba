import type { FilterQuery } from "@mikro-orm/core";
import { recallAllotmentsOfKey, recalledAllotmentsOfKey } from "../../accounts/allotments/recalls.store.ts";
import { awaitReturn } from "../../accounts/allotments/recalls.ts";
import { recountSpending } from "../../accounts/key-spending.ts";
import { openAccount } from "../../accounts/ledger.store.ts";
import type { RowCount } from "../../db/count-rows.ts";
import { type Page, type PageRequest, toPage } from "../../kernel/page.ts";
import { isId } from "../../kernel/text/ids.ts";
import { credentialEnded } from "../auth/ended-credential.ts";
import { changedSettings } from "../shared/changed-settings.ts";
import { newKey } from "../shared/key.row.ts";
import { type KeyDependencies, KeyStore, oneOf } from "../shared/key.store.ts";
import { type Key, toKey } from "../shared/key.ts";
import { ApiKeyRow } from "./api-key.row.ts";
import { checkKeySettings } from "./check-key-settings.ts";
import { type Guardrails, NO_GUARDRAILS } from "./guardrails.ts";
import type { KeyRestrictions, KeySettings } from "./key-settings.ts";
import { periodStart } from "./reset-period.ts";

/** Whether a key may be used. */
export const KEY_STATUSES = ["active", "revoked", "expired"] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

/** An `sk-` key as its account sees it (SPEC 2.2, facts 1.3). */
export type ApiKey = Key &
  KeySettings & {
    readonly permission: string;
    readonly status: KeyStatus;
    /** The amount charged in the current period, neuron. */
    readonly used: bigint;
  };

/** Issues, lists, changes and revokes `sk-` keys. */
export class ApiKeyService {
  readonly #dependencies: KeyDependencies;
  readonly #store: KeyStore<ApiKeyRow>;

  constructor(dependencies: KeyDependencies) {
    this.#dependencies = dependencies;
    const table = { entity: ApiKeyRow, kind: "api-key", notFound: "api_key_not_found" } as const;
    this.#store = new KeyStore(dependencies, table);
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
    const { secret, columns } = newKey("sk-", { account, name: checked.name ?? name, createdAt: now });
    const row = await this.#store.commit(async (tx) => {
      await openAccount(tx, account);
      const created = tx.em.create(ApiKeyRow, {
        ...columns,
        permission: "inference",
        expiresAt: checked.expiresAt ?? null,
        creditLimit: checked.creditLimit ?? null,
        resetPeriod: checked.resetPeriod ?? "never",
        allowedModels: checked.allowedModels ?? [],
        allowedProviders: checked.allowedProviders ?? [],
        trustMode: checked.trustMode ?? null,
        providerEvidence: checked.providerEvidence ?? null,
        maxInputTokens: checked.maxInputTokens ?? null,
        maxInputBytes: checked.maxInputBytes ?? null,
        maxOutputTokens: checked.maxOutputTokens ?? null,
        allowedTools: checked.allowedTools ?? [],
        blockedParameters: checked.blockedParameters ?? [],
        verifyTee: checked.verifyTee ?? false,
        termsVersion: hasRestrictions(checked) ? 1 : 0,
        used: 0n,
        spentAt: null,
      });
      await this.#store.save(tx, created, "created");
      return created;
    });
    return { key: this.#view(row), secret };
  }

  /** The keys of an account, oldest first; those with one of these statuses, or all. */
  async list(account: string, page: PageRequest, statuses?: readonly KeyStatus[]): Promise<Page<ApiKey>> {
    const rows = await this.#store.list(account, page, this.#withStatus(statuses));
    return toPage(
      rows.map((row) => this.#view(row)),
      page,
    );
  }

  /** How many keys an account has: with one of these statuses, or all. */
  count(account: string, statuses?: readonly KeyStatus[]): Promise<RowCount> {
    return this.#store.count(account, this.#withStatus(statuses));
  }

  #withStatus(statuses: readonly KeyStatus[] | undefined): FilterQuery<ApiKeyRow> {
    const now = this.#dependencies.clock.now();
    return statuses ? oneOf(statuses.map((status) => withStatus(status, now))) : {};
  }

  /** The keys with these ids, in their order; undefined for an unknown id. */
  async byIds(ids: readonly string[]): Promise<readonly (ApiKey | undefined)[]> {
    const rows = await this.#dependencies.database.em().find(ApiKeyRow, { id: { $in: ids.filter(isId) } });
    const byId = new Map(rows.map((row) => [row.id, this.#view(row)]));
    return ids.map((id) => byId.get(id.toLowerCase()));
  }

  /**
   * Changes the given settings and leaves the rest; settings that the key has already change nothing. Resolves when no
   * process admits requests by the earlier ones. Throws `api_key_not_found`, `duplicate_name`, `key_revoked`, and
   * `invalid_parameter` for invalid settings.
   */
  async update(account: string, id: string, changes: Partial<KeySettings>): Promise<ApiKey> {
    const checked = checkKeySettings(changes, this.#dependencies.clock.now());
    const { database, clock } = this.#dependencies;
    const recalled = await this.#store.commit(async (tx) => {
      const row = await this.#store.lockUnrevoked(tx, account, id);
      const changed = changedSettings<KeySettings>(row, checked);
      if (hasRestrictions(changed)) row.termsVersion++;
      Object.assign(row, changed);
      if (changed.resetPeriod !== undefined) {
        await tx.em.flush();
        await recountSpending(tx, id);
      }
      const names = Object.keys(changed);
      if (names.length > 0) await this.#store.save(tx, row, "updated");
      // No admission depends on the name. A change that is repeated waits for the first one.
      return names.some((one) => one !== "name")
        ? recallAllotmentsOfKey(tx, id)
        : recalledAllotmentsOfKey(tx, id);
    });
    await awaitReturn(database, clock, recalled);
    const [key] = await this.byIds([id]);
    if (!key) throw new Error("a key that was changed is gone");
    return key;
  }

  /**
   * Revokes a key. Idempotent. Throws `api_key_not_found`, also for another account's key. The update waits for the
   * admissions that hold the row, and every later one re-reads it; then the key's allotments are recalled. Resolves when
   * no process admits requests on them any more: nothing is admitted after a revocation.
   */
  async revoke(account: string, id: string): Promise<ApiKey> {
    const { database, clock } = this.#dependencies;
    let recalled: readonly string[] = [];
    const row = await this.#store.revoke(account, id, async (tx) => {
      recalled = await recallAllotmentsOfKey(tx, id);
    });
    await awaitReturn(database, clock, recalled);
    return this.#view(row);
  }

  /** The current restrictions of a key. Throws `api_key_revoked` or `api_key_expired` for one that is not active. */
  async restrictionsOf(id: string): Promise<KeyRestrictions> {
    const row = await this.#dependencies.database.em().findOne(ApiKeyRow, { id });
    if (!row || row.revokedAt) throw credentialEnded("api_key_revoked");
    if (statusOf(row, this.#dependencies.clock.now()) === "expired") throw credentialEnded("api_key_expired");
    const { termsVersion, allowedModels, allowedProviders, trustMode, providerEvidence } = row;
    return {
      version: termsVersion,
      models: allowedModels,
      providers: allowedProviders,
      trustMode: trustMode ?? null,
      providerEvidence: providerEvidence ?? null,
      guardrails: guardrailsIn(row),
    };
  }

  #view(row: ApiKeyRow): ApiKey {
    const now = this.#dependencies.clock.now();
    const start = periodStart(row.resetPeriod, now);
    const isOfThisPeriod = start === null || (row.spentAt != null && row.spentAt >= start);
    return {
      ...toKey(row),
      permission: row.permission,
      status: statusOf(row, now),
      expiresAt: row.expiresAt ?? null,
      creditLimit: row.creditLimit ?? null,
      resetPeriod: row.resetPeriod,
      used: isOfThisPeriod ? row.used : 0n,
      allowedModels: row.allowedModels,
      allowedProviders: row.allowedProviders,
      trustMode: row.trustMode ?? null,
      providerEvidence: row.providerEvidence ?? null,
      ...guardrailsIn(row),
    };
  }
}

function guardrailsIn(row: ApiKeyRow): Guardrails {
  const { maxInputTokens, maxInputBytes, maxOutputTokens, allowedTools, blockedParameters, verifyTee } = row;
  return {
    maxInputTokens: maxInputTokens ?? null,
    maxInputBytes: maxInputBytes ?? null,
    maxOutputTokens: maxOutputTokens ?? null,
    allowedTools,
    blockedParameters,
    verifyTee,
  };
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

/** The settings that `KeyRestrictions` consists of: each change of one increases its version. */
const RESTRICTIONS: readonly (keyof KeySettings)[] = [
  "allowedModels",
  "allowedProviders",
  "trustMode",
  "providerEvidence",
  ...(Object.keys(NO_GUARDRAILS) as (keyof Guardrails)[]),
];

function hasRestrictions(settings: Partial<KeySettings>): boolean {
  return RESTRICTIONS.some((name) => settings[name] !== undefined);
}
