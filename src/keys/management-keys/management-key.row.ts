import { defineEntity, p } from "@mikro-orm/core";
import type { Scope } from "../auth/principal.ts";
import { keyProperties } from "../shared/key.row.ts";

const schema = defineEntity({
  name: "ManagementKey",
  tableName: "management_key",
  properties: {
    ...keyProperties(),
    scopes: p.json<readonly Scope[]>(),
    lastSourceIp: p.text().nullable(),
  },
});

/** A stored `mk-` key, with only the SHA-256 of its secret (SPEC 2.3). */
export class ManagementKeyRow extends schema.class {}
schema.setClass(ManagementKeyRow);
