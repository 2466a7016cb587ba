import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import type { Scope } from "../../../src/keys/auth/principal.ts";
import type { ManagementKey } from "../../../src/keys/management-keys/management-key.service.ts";
import type { Preset } from "../../../src/keys/management-keys/preset.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
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
  "The predefined sets of scopes of management keys.",
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
  simpleResolvers: true,
})
export class ManagementKeyType {
  @Field(() => ID, { description: "The key's id." })
  id!: string;

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

/** A list of management keys. */
export const ManagementKeyConnection = defineConnection("ManagementKey", () => ManagementKeyType);

/** A newly created key. */
@ObjectType("CreatedManagementKey", {
  description: "A newly created management key, with its secret.",
  simpleResolvers: true,
})
export class CreatedManagementKeyType {
  @Field(() => String, { description: "The `mk-` secret. Returned only once: only its hash is stored." })
  secret!: string;

  @Field(() => ManagementKeyType, { description: "The created key." })
  managementKey!: ManagementKey;
}
