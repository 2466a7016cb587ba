import "../../shared/schema/reflect.ts";
import { Arg, Args, ArgsType, Ctx, Field, Query, Resolver } from "type-graphql";
import type { Payment } from "../../../src/chain/market/market-transactions.service.ts";
import type { PreparedTransaction } from "../../../src/chain/transactions/prepared-transaction.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { PreparedTransactionType } from "../../shared/prepared-transaction.type.ts";
import { AddressScalar, BigIntScalar, HexScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { TransferProofInput } from "../agents/agent-proof.type.ts";
import {
  MarketOfferInput,
  MarketOrderInput,
  MarketPayment,
  toSignedOffer,
  toSignedOrder,
} from "./market-order.type.ts";

const SIMULATED =
  "The call is simulated first: if the contract would revert, the query fails with `contract_refused`, which states the contract's error and explains it.";

/** A match of an order and an offer. */
@ArgsType()
class MatchArgs {
  @Field(() => MarketOrderInput, { description: "The order, with its nonce." })
  order!: MarketOrderInput;

  @Field(() => HexScalar, { description: "The seller's signature." })
  orderSignature!: Hex;

  @Field(() => MarketOfferInput, { description: "The offer, with its nonce." })
  offer!: MarketOfferInput;

  @Field(() => HexScalar, { description: "The buyer's signature." })
  offerSignature!: Hex;

  @Field(() => [TransferProofInput], {
    defaultValue: [],
    description:
      "Both proofs for each piece of the token's data, in the order of the data. Required if the offer has " +
      "`needProof`.",
  })
  proofs!: readonly TransferProofInput[];

  @Field(() => MarketPayment, {
    defaultValue: "sent",
    description: "How a payment in the network's token is made. An ERC-20 is always taken from the buyer.",
  })
  payment!: Payment;

  @Field(() => AddressScalar, { nullable: true, description: "The sender. Default: the buyer." })
  from!: Hex | null | undefined;
}

/** Unsigned transactions of the market. */
@Resolver()
export class MarketTransactionsResolver {
  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares fulfilling an order with an offer. Anyone who holds both may send the transaction. ${SIMULATED}`,
  })
  prepareFulfillOrder(
    @Args(() => MatchArgs) args: MatchArgs,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.fulfill({
      ...args,
      order: toSignedOrder(args.order),
      offer: toSignedOffer(args.offer),
      from: args.from ?? undefined,
    });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares a deposit into an account's balance in the market. ${SIMULATED}`,
  })
  prepareMarketDeposit(
    @Arg("account", () => AddressScalar, { description: "The account of the balance." }) account: Hex,
    @Arg("amount", () => NeuronScalar, { description: "The amount." }) amount: string,
    @Arg("from", () => AddressScalar, {
      nullable: true,
      description: "The sender, who pays. Default: the account.",
    })
    from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.deposit({ account, amount: BigInt(amount), from: from ?? account });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares a withdrawal from an account's balance in the market. The account must send it. ${SIMULATED}`,
  })
  prepareMarketWithdrawal(
    @Arg("account", () => AddressScalar, { description: "The account of the balance." }) account: Hex,
    @Arg("amount", () => NeuronScalar, { description: "The amount." }) amount: string,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.withdraw({ account, amount: BigInt(amount) });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares a withdrawal of a partner's accrued fees. The partner must send it. ${SIMULATED}`,
  })
  preparePartnerFeeWithdrawal(
    @Arg("partner", () => AddressScalar, { description: "The partner's address." }) partner: Hex,
    @Arg("currency", () => AddressScalar, {
      nullable: true,
      description: "The ERC-20 contract of the fees. Default: the network's token.",
    })
    currency: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.withdrawPartnerFees({ partner, currency: currency ?? null });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares approving the market to transfer a token, as an order requires. The owner must send it. ${SIMULATED}`,
  })
  prepareMarketApproval(
    @Arg("tokenId", () => BigIntScalar, { description: "The token's id." }) tokenId: string,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.approveToken(BigInt(tokenId));
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares approving the market to spend an ERC-20, as offers paid in it require. ${SIMULATED}`,
  })
  prepareCurrencyApproval(
    @Arg("currency", () => AddressScalar, { description: "The ERC-20 contract." }) currency: Hex,
    @Arg("amount", () => BigIntScalar, {
      description: "The approved amount, in the currency's smallest unit. 0 revokes the approval.",
    })
    amount: string,
    @Arg("from", () => AddressScalar, { description: "The account that approves." }) from: Hex,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.approveCurrency({ currency, amount: BigInt(amount), from });
  }
}
