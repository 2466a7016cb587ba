import "../shared/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";
import type { ApiKey } from "../../src/keys/api-key.service.ts";
import { defineConnection } from "../shared/connection.ts";
import { defineEnum } from "../shared/enumeration.ts";
import { DateTimeScalar } from "../shared/scalars.ts";

/** Whether a key may be used. */
const KeyStatus = defineEnum<ApiKey["status"]>("KeyStatus", "Whether a key may be used.", {
  active: "It may be used.",
  revoked: "It was ended for good.",
});

/** An `sk-` key, as its account sees it (SPEC 2.2). */
@Directive('@key(fields: "id")')
@ObjectType("ApiKey", {
  description: "An `sk-` key, which pays for inference out of its account. Its secret is never readable.",
  simpleResolvers: true,
})
class ApiKeyType {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => String, { description: "What its holder calls it." })
  name!: string;

  @Field(() => String, { description: "The ends of its secret, to tell keys apart." })
  preview!: string;

  @Field(() => KeyStatus, { description: "Whether it may be used." })
  status!: ApiKey["status"];

  @Field(() => String, { description: "What it may be used for: `inference`." })
  permission!: string;

  @Field(() => DateTimeScalar, { description: "When it was made." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it was last used, null if never." })
  lastUsedAt!: Date | null;
}

/** A list of keys. */
export const ApiKeyConnection = defineConnection("ApiKey", () => ApiKeyType);
