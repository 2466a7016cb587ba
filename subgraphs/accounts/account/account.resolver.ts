import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { Balance } from "../../../src/accounts/balance.service.ts";
import type { Deposit } from "../../../src/accounts/deposits.service.ts";
import type { VaultBalance } from "../../../src/chain/vault.client.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { permitOn } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, toPageRequest, toPlacedConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";
import { BalanceType, VaultBalanceType } from "../balance/balance.type.ts";
import { DepositConnection } from "../balance/deposit.type.ts";
import { DepositsArgs, toDepositFilter } from "../balance/deposit-filter.type.ts";
import { AccountType, toAccount } from "./account.type.ts";

/** An account, its balance and its deposits. */
@Resolver(() => AccountType)
export class AccountResolver {
  @Query(() => AccountType, {
    nullable: true,
    description:
      "The account of any address. Its on-chain fields are public; fields that require a scope or a session are null, " +
      "with an error, unless the credential belongs to this account.",
  })
  account(
    @Arg("address", () => AddressScalar, { description: "The account's address." }) address: string,
  ): AccountType {
    return toAccount(address);
  }

  @Requires("balance.read")
  @FieldResolver(() => BalanceType, {
    nullable: true,
    description: "The account's balance. Requires the scope `account:read`.",
  })
  async balance(@Root() { address }: AccountType, @Ctx() { principal, loaders }: Context): Promise<Balance> {
    permitOn(principal, "balance.read", address);
    return loaders.balances.load(address);
  }

  @Requires("balance.read")
  @FieldResolver(() => VaultBalanceType, {
    nullable: true,
    description:
      "The account's balance in the vault on chain, apart from its `balance` with the router. Null, with the error " +
      "`vault_unavailable`, if the chain does not answer within 3 s. Requires the scope `account:read`.",
  })
  async vaultBalance(
    @Root() { address }: AccountType,
    @Ctx() { services, principal }: Context,
  ): Promise<VaultBalance> {
    permitOn(principal, "balance.read", address);
    return services.funds.inVault(lowerHex(address));
  }

  @Requires("account.read")
  @FieldResolver(() => DateTimeScalar, {
    nullable: true,
    description:
      "When the account was opened. Null if it never signed in, deposited or had a key. Requires the scope " +
      "`account:read`.",
  })
  async createdAt(
    @Root() { address }: AccountType,
    @Ctx() { services, principal }: Context,
  ): Promise<Date | null> {
    permitOn(principal, "account.read", address);
    return services.balances.openedAt(address);
  }

  @Requires("deposit.read")
  @FieldResolver(() => DepositConnection, {
    nullable: true,
    description:
      "The account's on-chain deposits, or those that match a filter, newest first, including reverted ones. " +
      "Requires the scope `account:read`.",
  })
  async deposits(
    @Root() { address }: AccountType,
    @Args(() => DepositsArgs) args: DepositsArgs,
    @Ctx() { services, principal, signal }: Context,
  ): Promise<Connection<Deposit>> {
    permitOn(principal, "deposit.read", address);
    const owner = lowerHex(address);
    const options = { filter: toDepositFilter(args.filter), signal };
    const page = await services.deposits.list(owner, toPageRequest(args), options);
    return toPlacedConnection(page, () => services.deposits.count(owner, options));
  }
}

/** The account of a key that another subgraph sent. Any caller may name an account. */
export function findAccount({ address }: { readonly address: unknown }): AccountType {
  return toAccount(AddressScalar.parseValue(address));
}
