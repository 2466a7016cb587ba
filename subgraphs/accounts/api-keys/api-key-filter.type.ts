import "../../shared/schema/reflect.ts";
import { ArgsType, Field, InputType } from "type-graphql";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { KeyStatus } from "./api-key.type.ts";

/** The filter of a list of keys. */
@InputType("ApiKeyFilterInput", {
  description: "Lists only keys that meet every given condition.",
})
class ApiKeyFilterInput {
  @Field(() => [KeyStatus], { nullable: true, description: "Keys with one of these statuses." })
  statuses!: ApiKey["status"][] | null | undefined;
}

/** The arguments of a list of keys. */
@ArgsType()
export class ApiKeysArgs extends PageArgs {
  @Field(() => ApiKeyFilterInput, { nullable: true, description: "Which keys to list. Default: all." })
  filter!: ApiKeyFilterInput | null | undefined;
}
