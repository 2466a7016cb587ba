import { defineEntity, p } from "@mikro-orm/core";

const schema = defineEntity({
  name: "ApiKey",
  tableName: "api_key",
  properties: {
    id: p.uuid().primary(),
    account: p.text(),
    name: p.text(),
    secretHash: p.text().hidden(),
    preview: p.text(),
    permission: p.text(),
    createdAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
  },
});

/** An `sk-` key at rest: of its secret only the SHA-256 (SPEC 2.2). */
export class ApiKeyRow extends schema.class {}
schema.setClass(ApiKeyRow);
