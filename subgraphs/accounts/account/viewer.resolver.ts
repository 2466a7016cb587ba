import "../../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Query, Resolver } from "type-graphql";
import { accountOf } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { AccountType, toAccount } from "./account.type.ts";
import { toViewer, ViewerType } from "./viewer.type.ts";

/** Answers everyone who asks about themselves. */
@Resolver(() => ViewerType)
export class ViewerResolver {
  @Query(() => ViewerType, { description: "Who is asking, and what the credential may do." })
  viewer(@Ctx() { principal }: Context): ViewerType {
    return toViewer(principal);
  }

  @FieldResolver(() => AccountType, {
    nullable: true,
    description:
      "The caller's account; each of its fields says which scope it needs. Null, with an error, for `sk-` keys, which " +
      "may read nothing of their account, and without a credential.",
  })
  account(@Ctx() { principal }: Context): AccountType {
    return toAccount(accountOf(principal));
  }
}
