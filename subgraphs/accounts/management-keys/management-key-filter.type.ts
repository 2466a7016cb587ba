import "../../shared/schema/reflect.ts";
import { ArgsType, Field, InputType } from "type-graphql";
import type { ManagementKey } from "../../../src/keys/management-keys/management-key.service.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { ManagementKeyStatus } from "./management-key.type.ts";

/** The filter of a list of keys. */
@InputType("ManagementKeyFilterInput", {
  description: "Lists only keys that meet every given condition.",
})
class ManagementKeyFilterInput {
  @Field(() => [ManagementKeyStatus], { nullable: true, description: "Keys with one of these statuses." })
  statuses!: ManagementKey["status"][] | null | undefined;
}

/** The arguments of a list of keys. */
@ArgsType()
export class ManagementKeysArgs extends PageArgs {
  @Field(() => ManagementKeyFilterInput, { nullable: true, description: "Which keys to list. Default: all." })
  filter!: ManagementKeyFilterInput | null | undefined;
}
