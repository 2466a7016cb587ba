import type { FilterQuery } from "@mikro-orm/core";
import { openAccount } from "../../accounts/ledger.store.ts";
import type { RowCount } from "../../db/count-rows.ts";
import { type Page, type PageRequest, toPage } from "../../kernel/page.ts";
import type { Scope } from "../auth/principal.ts";
import { changedSettings } from "../shared/changed-settings.ts";
import { newKey } from "../shared/key.row.ts";
import { type KeyDependencies, KeyStore, oneOf } from "../shared/key.store.ts";
import { type Key, toKey } from "../shared/key.ts";
import { readKeyName } from "../shared/key-name.ts";
import { ManagementKeyRow } from "./management-key.row.ts";
import { chooseScopes, type Preset, presetOf, type ScopeChoice } from "./preset.ts";

/** An `mk-` key as its account sees it (SPEC 2.3). It never expires. */
export type ManagementKey = Key & {
  readonly scopes: readonly Scope[];
  readonly preset: Preset;
  readonly status: "active" | "revoked";
  readonly lastSourceIp: string | null;
};

/** A change of a key; undefined fields are left unchanged. */
export type ManagementKeyChange = ScopeChoice & { readonly name?: string | undefined };

/** Issues, lists, changes and revokes `mk-` keys. The APIs ensure that the caller has a wallet session. */
export class ManagementKeyService {
  readonly #dependencies: KeyDependencies;
  readonly #store: KeyStore<ManagementKeyRow>;

  constructor(dependencies: KeyDependencies) {
    this.#dependencies = dependencies;
    const table = {
      entity: ManagementKeyRow,
      kind: "management-key",
      notFound: "management_key_not_found",
    } as const;
    this.#store = new KeyStore(dependencies, table);
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
    return this.#store.commit(async (tx) => {
      await openAccount(tx, account);
      const createdAt = this.#dependencies.clock.now();
      const { secret, columns } = newKey("mk-", { account, name: readKeyName(name), createdAt });
      const created = tx.em.create(ManagementKeyRow, {
        ...columns,
        scopes: chooseScopes({ scopes }) ?? [],
        lastSourceIp: null,
      });
      await this.#store.save(tx, created, "created");
      return { key: toManagementKey(created), secret };
    });
  }

  /** The keys of an account, oldest first, optionally of one status. */
  async list(
    account: string,
    page: PageRequest,
    statuses?: readonly ManagementKey["status"][],
  ): Promise<Page<ManagementKey>> {
    const rows = await this.#store.list(account, page, withStatus(statuses));
    return toPage(rows.map(toManagementKey), page);
  }

  /** How many keys an account has: with one of these statuses, or all. */
  count(account: string, statuses?: readonly ManagementKey["status"][]): Promise<RowCount> {
    return this.#store.count(account, withStatus(statuses));
  }

  /** A key of the account; undefined if there is none with this id. */
  async find(account: string, id: string): Promise<ManagementKey | undefined> {
    const row = await this.#store.find(account, id);
    return row && toManagementKey(row);
  }

  /**
   * Changes an active key; new scopes apply from its next request, and what the key has already changes nothing. Throws `management_key_not_found`, also for another
   * account's key, `key_revoked`, `duplicate_name` and `invalid_parameter`.
   */
  async update(account: string, id: string, change: ManagementKeyChange): Promise<ManagementKey> {
    const scopes = chooseScopes(change);
    const row = await this.#store.commit(async (tx) => {
      const found = await this.#store.lockUnrevoked(tx, account, id);
      const given = {
        ...(change.name !== undefined && { name: readKeyName(change.name) }),
        ...(scopes && { scopes }),
      };
      const changed = changedSettings(found, given);
      if (Object.keys(changed).length === 0) return found;
      Object.assign(found, changed);
      await this.#store.save(tx, found, "updated");
      return found;
    });
    return toManagementKey(row);
  }

  /** Revokes a key. Idempotent. Throws `management_key_not_found`, also for another account's key. */
  async revoke(account: string, id: string): Promise<ManagementKey> {
    return toManagementKey(await this.#store.revoke(account, id));
  }
}

function toManagementKey(row: ManagementKeyRow): ManagementKey {
  const { scopes, lastSourceIp, revokedAt } = row;
  return {
    ...toKey(row),
    scopes,
    preset: presetOf(scopes),
    status: revokedAt ? "revoked" : "active",
    lastSourceIp: lastSourceIp ?? null,
  };
}

function withStatus(statuses: readonly ManagementKey["status"][] | undefined): FilterQuery<ManagementKeyRow> {
  if (!statuses) return {};
  return oneOf<ManagementKeyRow>(
    statuses.map((status) => ({ revokedAt: status === "active" ? null : { $ne: null } })),
  );
}
