import { defineEntity, p } from "@mikro-orm/core";
import type { Scope } from "../auth/principal.ts";

const schema = defineEntity({
  name: "ManagementKey",
  tableName: "management_key",
  properties: {
    id: p.uuid().primary(),
    account: p.text(),
    name: p.text(),
    secretHash: p.text().hidden(),
    preview: p.text(),
    scopes: p.json<readonly Scope[]>(),
    createdAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
    lastSourceIp: p.text().nullable(),
    revokedAt: p.datetime().nullable(),
  },
});

/** A stored `mk-` key, with only the SHA-256 of its secret (SPEC 2.3). */
export class ManagementKeyRow extends schema.class {}
schema.setClass(ManagementKeyRow);
