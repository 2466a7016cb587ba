import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import type { Preset } from "../../../src/keys/api-keys/preset.ts";
import type { Scope } from "../../../src/keys/auth/principal.ts";
import type { ManagementKey } from "../../../src/keys/management-keys/management-key.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
import { ManagementScope } from "./management-scope.type.ts";

/** Whether a management key may be used. It never expires. */
export const ManagementKeyStatus = defineEnum<ManagementKey["status"]>(
  "ManagementKeyStatus",
  "Whether a management key may be used. It never expires.",
  { active: "It may be used.", revoked: "It was ended for good." },
);

/** The sets of scopes that are offered (SPEC 2.3). */
export const ManagementPreset = defineEnum<Preset>(
  "ManagementPreset",
  "The sets of scopes that a management key is offered with.",
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
    "An `mk-` key, which administers its account and never manages management keys. Its secret is never readable.",
  simpleResolvers: true,
})
export class ManagementKeyType {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => String, { description: "What its holder calls it." })
  name!: string;

  @Field(() => String, { description: "The beginning of its secret, to tell keys apart." })
  preview!: string;

  @Field(() => [ManagementScope], { description: "What it may do." })
  scopes!: readonly Scope[];

  @Field(() => ManagementPreset, { description: "The preset that has exactly these scopes." })
  preset!: Preset;

  @Field(() => ManagementKeyStatus, { description: "Whether it may be used." })
  status!: ManagementKey["status"];

  @Field(() => DateTimeScalar, { description: "When it was made." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When it was last used with success, to the minute; null if never.",
  })
  lastUsedAt!: Date | null;

  @Field(() => String, {
    nullable: true,
    description: "The IP address from which it was last used with success.",
  })
  lastSourceIp!: string | null;
}

/** A list of management keys. */
export const ManagementKeyConnection = defineConnection("ManagementKey", () => ManagementKeyType);

/** A key that was just made. */
@ObjectType("CreatedManagementKey", {
  description: "A management key that was just made, with its secret.",
  simpleResolvers: true,
})
export class CreatedManagementKeyType {
  @Field(() => String, { description: "The `mk-` secret. It is shown this once: only its hash is kept." })
  secret!: string;

  @Field(() => ManagementKeyType, { description: "The key." })
  managementKey!: ManagementKey;
}
