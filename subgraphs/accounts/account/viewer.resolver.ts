import "../../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Query, Resolver } from "type-graphql";
import { accountOf, isPermitted } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { AccountType, toAccount } from "./account.type.ts";
import { toViewer, ViewerType } from "./viewer.type.ts";

/** The caller: any credential, or none. */
@Resolver(() => ViewerType)
export class ViewerResolver {
  @Query(() => ViewerType, { nullable: true, description: "The caller, and what the credential may do." })
  viewer(@Ctx() { principal }: Context): ViewerType {
    return toViewer(principal);
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether the credential may read `operations`: its account is that of an operator of this service (`OPERATORS`).",
  })
  operator(@Ctx() { principal, services }: Context): boolean {
    return isPermitted(principal, "operations.read") && services.operators.has(accountOf(principal));
  }

  @FieldResolver(() => AccountType, {
    nullable: true,
    description:
      "The caller's own account; each of its fields states the scope it requires. Null, with an error, for `sk-` " +
      "keys, which may not read their account, and without a credential.",
  })
  account(@Ctx() { principal }: Context): AccountType {
    return toAccount(accountOf(principal));
  }
}
