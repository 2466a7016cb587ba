import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { MarketService } from "../../../src/chain/market/market.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import {
  AddressScalar,
  BigIntScalar,
  DateTimeScalar,
  Hash32Scalar,
  NeuronScalar,
} from "../../shared/schema/scalars.ts";

/** The market, its fills and the moves of its balances as the service gives them. */
export type MarketState = Awaited<ReturnType<MarketService["state"]>>;
export type MarketFill = Awaited<ReturnType<MarketService["fills"]>>["rows"][number];
export type MarketMove = Awaited<ReturnType<MarketService["moves"]>>["rows"][number];

/** The market. The rest of its fields are resolved. */
@ObjectType("Market", {
  description:
    "The market of agent tokens. It keeps no list of orders and offers: whoever has a signed pair of them brings it.",
  simpleResolvers: true,
})
export class MarketType {
  @Field(() => AddressScalar, { description: "Its contract." })
  address!: MarketState["address"];

  @Field(() => AddressScalar, { description: "The contract of the tokens that it trades." })
  token!: MarketState["token"];

  @Field(() => AddressScalar, { description: "Who has the platform's fees." })
  admin!: MarketState["admin"];

  @Field(() => String, { description: "Its version, as it says itself." })
  version!: string;

  @Field(() => Boolean, { description: "Whether it is paused: nothing is fulfilled, paid in or out then." })
  isPaused!: boolean;

  @Field(() => Int, { description: "The fee on a price, in hundredths of a percent." })
  feeRate!: number;

  @Field(() => NeuronScalar, { description: "What minting by the market costs." })
  mintFee!: bigint;

  @Field(() => NeuronScalar, { description: "What minting by the market costs at a discount." })
  discountMintFee!: bigint;
}

/** A partner of the market. The rest of its fields are resolved. */
@ObjectType("MarketPartner", {
  description: "An account and its share of the fees on tokens that it created.",
  simpleResolvers: true,
})
export class MarketPartnerType {
  @Field(() => AddressScalar, { description: "Its address." })
  address!: string;
}

/** An order that was fulfilled. The rest of its fields are resolved. */
@ObjectType("MarketFill", {
  description: "An order of the market that was fulfilled.",
  simpleResolvers: true,
})
export class MarketFillType {
  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: bigint;

  @Field(() => BigIntScalar, { description: "The price, in the smallest unit of its currency." })
  price!: bigint;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The ERC-20 that was paid, null for the network's token.",
  })
  currency!: MarketFill["currency"];

  @Field(() => BigIntScalar, { description: "What of the price was a fee." })
  fee!: bigint;

  @Field(() => Int, { description: "The fee's rate at that time, in hundredths of a percent." })
  feeRate!: number;

  @Field(() => Hash32Scalar, { description: "The transaction of it." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The block of it." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When we first saw it." })
  seenAt!: Date;
}

/** A list of fulfilled orders. */
export const MarketFillConnection = defineConnection("MarketFill", () => MarketFillType);

const MarketMoveKind = defineEnum<MarketMove["kind"]>(
  "MarketMoveKind",
  "What moves an account's balance in the market, beside what it buys.",
  {
    deposited: "Money was paid in; the event tells the balance behind it.",
    withdrawn: "Money was taken out; the event tells how much.",
    minted: "A token was minted for the account and its fee taken.",
  },
);

/** A move of a balance. */
@ObjectType("MarketMove", {
  description: "What moved an account's balance in the market.",
  simpleResolvers: true,
})
class MarketMoveType {
  @Field(() => MarketMoveKind, { description: "What it was." })
  kind!: MarketMove["kind"];

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "How much was taken; null where the chain does not tell.",
  })
  amount!: bigint | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The balance behind it; null where the chain does not tell.",
  })
  balance!: bigint | null;

  @Field(() => Hash32Scalar, { description: "The transaction of it." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The block of it." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When we first saw it." })
  seenAt!: Date;
}

/** A list of moves. */
export const MarketMoveConnection = defineConnection("MarketMove", () => MarketMoveType);
