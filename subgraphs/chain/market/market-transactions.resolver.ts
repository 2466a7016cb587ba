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

const TRIED =
  "It is tried on the chain first: what the contract would refuse fails with `contract_refused`, which says what the contract says and why.";

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
    description: "Both proofs for each piece of the token's data, in its order, where the offer needs them.",
  })
  proofs!: readonly TransferProofInput[];

  @Field(() => MarketPayment, {
    defaultValue: "sent",
    description: "How the network's token is paid; an ERC-20 is always taken from the buyer.",
  })
  payment!: Payment;

  @Field(() => AddressScalar, { nullable: true, description: "Who sends it, where that is not the buyer." })
  from!: Hex | null | undefined;
}

/** Unsigned transactions of the market. */
@Resolver()
export class MarketTransactionsResolver {
  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Fulfils an order with an offer; anybody who has both may. ${TRIED}`,
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
    description: `Pays into an account's balance in the market. ${TRIED}`,
  })
  prepareMarketDeposit(
    @Arg("account", () => AddressScalar, { description: "Whose balance." }) account: Hex,
    @Arg("amount", () => NeuronScalar, { description: "How much." }) amount: string,
    @Arg("from", () => AddressScalar, {
      nullable: true,
      description: "Who pays, where that is not the account.",
    })
    from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.deposit({ account, amount: BigInt(amount), from: from ?? account });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Takes money out of an account's balance in the market; the account sends it. ${TRIED}`,
  })
  prepareMarketWithdrawal(
    @Arg("account", () => AddressScalar, { description: "Whose balance." }) account: Hex,
    @Arg("amount", () => NeuronScalar, { description: "How much." }) amount: string,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.withdraw({ account, amount: BigInt(amount) });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Pays a partner its fees that wait; the partner sends it. ${TRIED}`,
  })
  preparePartnerFeeWithdrawal(
    @Arg("partner", () => AddressScalar, { description: "The partner." }) partner: Hex,
    @Arg("currency", () => AddressScalar, {
      nullable: true,
      description: "In which ERC-20; none for the network's token.",
    })
    currency: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.withdrawPartnerFees({ partner, currency: currency ?? null });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Lets the market move a token, as its order needs; the owner sends it. ${TRIED}`,
  })
  prepareMarketApproval(
    @Arg("tokenId", () => BigIntScalar, { description: "The token's id." }) tokenId: string,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.approveToken(BigInt(tokenId));
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Lets the market spend an ERC-20, as offers that are paid in it need. ${TRIED}`,
  })
  prepareCurrencyApproval(
    @Arg("currency", () => AddressScalar, { description: "The ERC-20." }) currency: Hex,
    @Arg("amount", () => BigIntScalar, { description: "How much, in its smallest unit; 0 ends it." })
    amount: string,
    @Arg("from", () => AddressScalar, { description: "Whose money." }) from: Hex,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.marketTransactions.approveCurrency({ currency, amount: BigInt(amount), from });
  }
}
