import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { MarketService } from "../../../src/chain/market/market.service.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import {
  AddressScalar,
  BigIntScalar,
  DateTimeScalar,
  Hash32Scalar,
  NeuronScalar,
} from "../../shared/schema/scalars.ts";

/** The market, its fills and its balance changes as the service returns them. */
export type MarketState = Awaited<ReturnType<MarketService["state"]>>;
export type MarketFill = Awaited<ReturnType<MarketService["fills"]>>["rows"][number];
export type MarketMove = Awaited<ReturnType<MarketService["moves"]>>["rows"][number];

/** The market. The rest of its fields are resolved. */
@ObjectType("Market", {
  description:
    "The market of agent tokens. It stores no orders or offers: anyone who holds a signed pair can submit it.",
  simpleResolvers: true,
})
export class MarketType {
  @Field(() => AddressScalar, { description: "The market's contract." })
  address!: MarketState["address"];

  @Field(() => AddressScalar, {
    name: "tokenContract",
    simple: false,
    description: "The contract of the traded tokens.",
  })
  token!: MarketState["token"];

  @Field(() => AddressScalar, { description: "The account that receives the platform's fees." })
  admin!: MarketState["admin"];

  @Field(() => String, { description: "The contract's version, as it reports." })
  version!: string;

  @Field(() => Boolean, {
    name: "paused",
    simple: false,
    description: "Whether the market is paused: no fulfillments, deposits or withdrawals.",
  })
  isPaused!: boolean;

  @Field(() => Int, { description: "The fee on a price, in basis points (0.01 %)." })
  feeRate!: number;

  @Field(() => NeuronScalar, { description: "The fee of a mint through the market." })
  mintFee!: bigint;

  @Field(() => NeuronScalar, { description: "The discounted fee of a mint through the market." })
  discountMintFee!: bigint;
}

/** A partner of the market. The rest of its fields are resolved. */
@ObjectType("MarketPartner", {
  description: "An account with a share of the fees on tokens that it created.",
  simpleResolvers: true,
})
export class MarketPartnerType {
  @Field(() => AddressScalar, { description: "The account's address." })
  address!: string;
}

/** An order that was fulfilled. The rest of its fields are resolved. */
@ObjectType("MarketFill", {
  description: "A fulfilled order of the market.",
  simpleResolvers: true,
})
export class MarketFillType {
  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: bigint;

  @Field(() => BigIntScalar, { description: "The price, in the smallest unit of the currency." })
  price!: bigint;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The ERC-20 contract of the payment. Null for the network's token.",
  })
  currency!: MarketFill["currency"];

  @Field(() => BigIntScalar, { description: "The part of the price that was a fee." })
  fee!: bigint;

  @Field(() => Int, { description: "The fee rate at that time, in basis points (0.01 %)." })
  feeRate!: number;

  @Field(() => Hash32Scalar, { description: "The transaction of the event." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The block of the event." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When the event was first seen by this service." })
  seenAt!: Date;
}

/** A list of fulfilled orders. */
export const MarketFillConnection = defineCountedConnection("MarketFill", () => MarketFillType);

const MarketMoveKind = defineEnum<MarketMove["kind"]>(
  "MarketMoveKind",
  "What changed an account's balance in the market, other than a purchase.",
  {
    deposited: "A deposit. Only the resulting balance is known.",
    withdrawn: "A withdrawal. Only the amount is known.",
    minted: "A mint for the account, whose fee was charged.",
  },
);

/** A change of a balance. */
@ObjectType("MarketMove", {
  description: "A change of an account's balance in the market.",
  simpleResolvers: true,
})
class MarketMoveType {
  @Field(() => MarketMoveKind, { description: "The kind of change." })
  kind!: MarketMove["kind"];

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The amount taken. Null if the chain does not report it.",
  })
  amount!: bigint | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The balance after the change. Null if the chain does not report it.",
  })
  balance!: bigint | null;

  @Field(() => Hash32Scalar, { description: "The transaction of the event." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The block of the event." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When the event was first seen by this service." })
  seenAt!: Date;
}

/** A list of balance changes. */
export const MarketMoveConnection = defineCountedConnection("MarketMove", () => MarketMoveType);
