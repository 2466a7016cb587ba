import { p } from "@mikro-orm/core";
import { newId } from "../../kernel/text/ids.ts";
import { hashSecret, newSecret, previewSecret } from "../auth/secret.ts";

/** The columns that `api_key` and `management_key` have in common, as entity properties. */
export const keyProperties = () => ({
  id: p.uuid().primary(),
  account: p.text(),
  name: p.text(),
  secretHash: p.text().hidden(),
  preview: p.text(),
  createdAt: p.datetime(),
  lastUsedAt: p.datetime().nullable(),
  revokedAt: p.datetime().nullable(),
});

/** A stored key of either kind. */
export type KeyRow = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly preview: string;
  readonly createdAt: Date;
  readonly lastUsedAt?: Date | null | undefined;
  revokedAt?: Date | null | undefined;
};

/** The values of these columns for a new key, and its secret, of which only the hash is stored. */
export function newKey(
  prefix: "sk-" | "mk-",
  { account, name, createdAt }: { readonly account: string; readonly name: string; readonly createdAt: Date },
) {
  const secret = newSecret(prefix);
  const columns = {
    ...{ id: newId(), account, name, createdAt },
    secretHash: hashSecret(secret),
    preview: previewSecret(secret),
    lastUsedAt: null,
    revokedAt: null,
  };
  return { secret, columns };
}
