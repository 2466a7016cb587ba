import "../../shared/schema/reflect.ts";
import { Field, ID, InputType, ObjectType } from "type-graphql";
import type { Scope } from "../../../src/keys/auth/principal.ts";
import type { ManagementKey } from "../../../src/keys/management-keys/management-key.service.ts";
import type { Preset } from "../../../src/keys/management-keys/preset.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { SECRET_IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { ManagementScope } from "./management-scope.type.ts";

/** The status of a management key. Management keys do not expire. */
export const ManagementKeyStatus = defineEnum<ManagementKey["status"]>(
  "ManagementKeyStatus",
  "The status of a management key. Management keys do not expire.",
  { active: "The key may be used.", revoked: "The key was revoked." },
);

/** The predefined sets of scopes (SPEC 2.3). */
export const ManagementPreset = defineEnum<Preset>(
  "ManagementPreset",
  "Predefined sets of scopes for management keys.",
  {
    "read-only": "`account:read` and `keys:read`.",
    "key-manager": "`keys:read` and `keys:manage`.",
    "full-admin": "All scopes.",
    custom: "Any other set.",
  },
);

/** An `mk-` key, as its account sees it (SPEC 2.3). */
@ObjectType("ManagementKey", {
  description:
    "An `mk-` key, which administers its account but cannot manage management keys. Its secret cannot be read.",
  implements: NodeType,
  simpleResolvers: true,
})
export class ManagementKeyType {
  @Field(() => String, { description: "The key's name." })
  name!: string;

  @Field(() => String, { description: "The beginning of the key's secret, to tell keys apart." })
  preview!: string;

  @Field(() => [ManagementScope], { description: "The key's scopes." })
  scopes!: readonly Scope[];

  @Field(() => ManagementPreset, { description: "The preset with exactly these scopes." })
  preset!: Preset;

  @Field(() => ManagementKeyStatus, { description: "The key's status." })
  status!: ManagementKey["status"];

  @Field(() => DateTimeScalar, { description: "When the key was created." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the key was last used successfully, to the minute. Null if never.",
  })
  lastUsedAt!: Date | null;

  @Field(() => String, {
    nullable: true,
    description: "The IP address of the key's last successful use. Null if never used.",
  })
  lastSourceIp!: string | null;
}

/** The global id of a management key, and its raw id. */
export const ManagementKeyNodeResolvers = defineNodeResolvers<ManagementKey>(() => ManagementKeyType, {
  name: "ManagementKey",
  keyOf: ({ id }) => id,
  raw: { field: "keyId", description: "The key's id in the REST API: `key_id`." },
});

/** A list of management keys. */
export const ManagementKeyConnection = defineCountedConnection("ManagementKey", () => ManagementKeyType);

const PRESET_TEXT = "A predefined set of scopes, not `CUSTOM`. Give this, `scopes`, or both if they agree.";
const SCOPES_TEXT = "The key's scopes. With a preset, they must equal the preset's scopes.";

/** A management key to create. */
@InputType("CreateManagementKeyInput", {
  description: "An `mk-` key to create, with a preset or a list of scopes.",
})
export class CreateManagementKeyInput {
  @Field(() => String, { description: "The key's name, unique among the account's active `mk-` keys." })
  name!: string;

  @Field(() => String, { nullable: true, description: SECRET_IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;

  @Field(() => ManagementPreset, { nullable: true, description: PRESET_TEXT })
  preset?: Preset | null;

  @Field(() => [ManagementScope], { nullable: true, description: SCOPES_TEXT })
  scopes?: readonly Scope[] | null;
}

/** Changes of a management key. */
@InputType("UpdateManagementKeyInput", {
  description: "Changes to an `mk-` key. A field that is null or omitted is left unchanged.",
})
export class UpdateManagementKeyInput {
  @Field(() => ID, { description: "The key's id." })
  id!: string;

  @Field(() => String, { nullable: true, description: "The new name." })
  name?: string | null;

  @Field(() => ManagementPreset, { nullable: true, description: PRESET_TEXT })
  preset?: Preset | null;

  @Field(() => [ManagementScope], { nullable: true, description: SCOPES_TEXT })
  scopes?: readonly Scope[] | null;
}

/** A management key to revoke. */
@InputType("RevokeManagementKeyInput", { description: "An `mk-` key to revoke." })
export class RevokeManagementKeyInput {
  @Field(() => ID, { description: "The key's id." })
  id!: string;
}

/** A newly created key. */
@ObjectType("CreateManagementKeyPayload", {
  description: "The result of `createManagementKey`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateManagementKeyPayload extends PayloadType {
  @Field(() => String, {
    nullable: true,
    description: "The `mk-` secret. Returned only once: only its hash is stored.",
  })
  secret?: string | null;

  @Field(() => ManagementKeyType, { nullable: true, description: "The created key." })
  managementKey?: ManagementKey | null;
}

/** A changed key. */
@ObjectType("UpdateManagementKeyPayload", {
  description: "The result of `updateManagementKey`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class UpdateManagementKeyPayload extends PayloadType {
  @Field(() => ManagementKeyType, { nullable: true, description: "The key with its changes." })
  managementKey?: ManagementKey | null;
}

/** A revoked key. */
@ObjectType("RevokeManagementKeyPayload", {
  description: "The result of `revokeManagementKey`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class RevokeManagementKeyPayload extends PayloadType {
  @Field(() => ManagementKeyType, { nullable: true, description: "The revoked key." })
  managementKey?: ManagementKey | null;
}
