import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { SCOPES } from "../../keys/auth/principal.ts";
import type { ManagementKey } from "../../keys/management-keys/management-key.service.ts";
import { chooseScopes, PRESET_NAMES } from "../../keys/management-keys/preset.ts";
import { defineRoute, json } from "../route.ts";
import { timestamp } from "../wire.ts";
import { answerKeyList, keyListAnswer, keyListQuery, keyName, REVOKED_KEY } from "./key-shape.ts";

const preset = z.enum(PRESET_NAMES);
const scopes = z.array(z.enum(SCOPES)).max(SCOPES.length);

const STATUSES = ["active", "revoked"] as const;

const item = z
  .strictObject({
    key_id: z.uuid(),
    key_preview: z.string(),
    key_type: z.literal("mgmt"),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    preset,
    status: z.enum(STATUSES),
    revoked: z.boolean(),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
    last_source_ip: z.string().nullable(),
  })
  .meta({ id: "ManagementKey" });

/** GET /v1/management-keys (SPEC 2.3): the wallet's management keys, oldest first, including revoked ones. */
export const listManagementKeys = defineRoute({
  method: "GET",
  url: "/v1/management-keys",
  summary: "List the management keys",
  access: "management-key.read",
  query: keyListQuery(STATUSES),
  answer: keyListAnswer(item),
  handle: (app, { account, query }) =>
    answerKeyList(
      "management-key",
      query,
      (page, statuses) => app.managementKeys.list(account, page, statuses),
      view,
    ),
});

/** POST /v1/management-keys: creates a key with a preset or a list of scopes. `key` is returned only once. */
export const createManagementKey = defineRoute({
  method: "POST",
  url: "/v1/management-keys",
  summary: "Create a management key",
  access: "management-key.create",
  repetition: "secret",
  body: z.strictObject({ name: keyName, preset: preset.optional(), scopes: scopes.optional() }),
  answer: { status: 201, json: z.strictObject({ ...item.shape, key: z.string() }) },
  async handle(app, { account, body }) {
    const chosen = chooseScopes(body);
    if (!chosen) throw new AppError("invalid_body", "scopes: send scopes or a preset.", { param: "scopes" });
    const { key, secret } = await app.managementKeys.create(account, body.name, chosen);
    return json({ ...view(key), key: secret }, 201);
  },
});

/** PATCH /v1/management-keys/{id}: renames the key or changes its scopes; null leaves a field unchanged. */
export const updateManagementKey = defineRoute({
  method: "PATCH",
  url: "/v1/management-keys/:id",
  summary: "Change a management key",
  access: "management-key.update",
  body: z.strictObject({ name: keyName.nullish(), preset: preset.nullish(), scopes: scopes.nullish() }),
  answer: { json: item },
  async handle(app, { account, params: { id = "" }, body }) {
    const change = {
      name: body.name ?? undefined,
      preset: body.preset ?? undefined,
      scopes: body.scopes ?? undefined,
    };
    return json(view(await app.managementKeys.update(account, id, change)));
  },
});

/** DELETE /v1/management-keys/{id}: revokes the key permanently; its next request gets 401. */
export const revokeManagementKey = defineRoute({
  method: "DELETE",
  url: "/v1/management-keys/:id",
  summary: "Revoke a management key",
  access: "management-key.revoke",
  answer: REVOKED_KEY,
  async handle(app, { account, params: { id = "" } }) {
    const key = await app.managementKeys.revoke(account, id);
    return json({ key_id: key.id, message: "Management key revoked" });
  },
});

function view(key: ManagementKey) {
  return {
    key_id: key.id,
    key_preview: key.preview,
    key_type: "mgmt",
    name: key.name,
    scopes: key.scopes,
    preset: key.preset,
    status: key.status,
    revoked: key.status === "revoked",
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    last_source_ip: key.lastSourceIp,
  };
}
