import { openAccount } from "../accounts/ledger.store.ts";
import type { Database } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { ManagementKeyRow } from "./management-key.row.ts";
import type { Scope } from "./principal.ts";
import { hashSecret, newSecret, previewSecret } from "./secret.ts";

type Needs = { readonly database: Database; readonly clock: Clock; readonly committed: () => void };

/** Issues `mk-` keys. */
export class ManagementKeyService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Makes a key with these scopes. Its secret is in this answer and nowhere else; its hash is what is kept. */
  async create(
    account: string,
    name: string,
    scopes: readonly Scope[],
  ): Promise<{ id: string; secret: string }> {
    const secret = newSecret("mk-");
    const id = newId();
    await this.#needs.database.transaction(async (tx) => {
      await openAccount(tx, account);
      tx.em.create(ManagementKeyRow, {
        id,
        account,
        name,
        secretHash: hashSecret(secret),
        preview: previewSecret(secret),
        scopes: [...new Set(scopes)],
        createdAt: this.#needs.clock.now(),
        lastUsedAt: null,
        lastSourceIp: null,
        revokedAt: null,
      });
      await tx.em.flush();
      const data = { account, keyId: id, kind: "management-key", change: "created" } as const;
      await appendEvents(tx, [{ topic: "key.changed", subject: account, data }]);
    });
    this.#needs.committed();
    return { id, secret };
  }
}
