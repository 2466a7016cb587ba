import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { DirectLedger, DirectRules } from "../../../src/chain/direct/direct-ledger.service.ts";
import { type Hex, lowerHex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import {
  DirectLedgerType,
  DirectPathType,
  DirectRulesType,
  SubAccountConnection,
  SubAccountType,
  toSubAccount,
} from "./direct-ledger.type.ts";

/** An account's funds on the direct path (SPEC 1.3). Public on-chain data. */
@Resolver(() => DirectPathType)
export class DirectLedgerResolver {
  @Query(() => DirectRulesType, {
    nullable: true,
    description: "The limits that the contracts of the direct path impose.",
  })
  directRules(@Ctx() { services }: Context): Promise<DirectRules> {
    return services.directLedger.rules();
  }

  @FieldResolver(() => DirectLedgerType, {
    nullable: true,
    description: "The account's ledger. Null if it has none.",
  })
  ledger(
    @Root() { account }: DirectPathType,
    @Ctx() { services }: Context,
  ): Promise<DirectLedger | undefined> {
    return services.directLedger.ledger(lowerHex(account));
  }

  @FieldResolver(() => SubAccountConnection, {
    nullable: true,
    description: "The account's sub-accounts with inference providers, in the contract's order.",
  })
  async subAccounts(
    @Root() { account }: DirectPathType,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SubAccountType>> {
    const page = await services.directLedger.subAccounts(lowerHex(account), toPageRequest(args));
    return toConnection({ ...page, rows: page.rows.map((row) => toSubAccount(row)) }, cursorOf);
  }

  @FieldResolver(() => SubAccountType, {
    nullable: true,
    description: "The account's sub-account with an inference provider. Null if there is none.",
  })
  async subAccount(
    @Root() { account }: DirectPathType,
    @Arg("provider", () => AddressScalar, { description: "The provider's address." }) provider: Hex,
    @Ctx() { services }: Context,
  ): Promise<SubAccountType | undefined> {
    const row = await services.directLedger.subAccount(lowerHex(account), provider);
    return row && toSubAccount(row);
  }
}

/** The direct path, joined to the account. */
@Resolver(() => AccountStub)
export class DirectAccountResolver {
  @FieldResolver(() => DirectPathType, {
    description: "The account's funds on the direct path, separate from the router's balance.",
  })
  direct(@Root() { address }: AccountStub): DirectPathType {
    return { account: address };
  }
}

function cursorOf(row: object): string {
  return "cursor" in row ? String(row.cursor) : "";
}
