import "../../shared/schema/reflect.ts";
import { Field, InputType, ObjectType } from "type-graphql";
import type {
  NewOffer,
  NewOrder,
  Signable,
  SignatureCheck,
} from "../../../src/chain/market/market-orders.service.ts";
import { PAYMENTS, type Payment } from "../../../src/chain/market/market-transactions.service.ts";
import type { MarketOffer, MarketOrder } from "../../../src/chain/market/typed-data.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar, JsonScalar } from "../../shared/schema/scalars.ts";

const NONCE =
  "Good once for everybody. Left out, a fresh one is made; of what is signed already it must be given.";
const EXPIRE_TIME = "The last second at which it is good, Unix time by the chain's clock.";

/** How the network's token is paid. */
export const MarketPayment = defineEnum<Payment>("MarketPayment", "How the network's token is paid.", {
  [PAYMENTS[0]]: "It is sent along by whoever sends the transaction.",
  [PAYMENTS[1]]: "It is taken from the buyer's balance in the market.",
});

/** An order. */
@InputType("MarketOrderInput", { description: "What a seller signs." })
export class MarketOrderInput {
  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: string;

  @Field(() => BigIntScalar, {
    description: "The least that an offer must have, in the smallest unit of the currency.",
  })
  expectedPrice!: string;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The ERC-20 to be paid in, none for the network's token.",
  })
  currency!: Hex | null | undefined;

  @Field(() => BigIntScalar, { description: EXPIRE_TIME })
  expireTime!: string;

  @Field(() => AddressScalar, { nullable: true, description: "Who alone may buy, none for anybody." })
  receiver!: Hex | null | undefined;

  @Field(() => Hash32Scalar, { nullable: true, description: NONCE })
  nonce!: Hex | null | undefined;
}

/** An offer. */
@InputType("MarketOfferInput", { description: "What a buyer signs: a price, and no currency." })
export class MarketOfferInput {
  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: string;

  @Field(() => BigIntScalar, {
    description: "The price, in the smallest unit of whatever the order is paid in.",
  })
  offerPrice!: string;

  @Field(() => BigIntScalar, { description: EXPIRE_TIME })
  expireTime!: string;

  @Field(() => Boolean, {
    defaultValue: true,
    description: "Whether the token must come with its sealed keys.",
  })
  needProof!: boolean;

  @Field(() => Hash32Scalar, { nullable: true, description: NONCE })
  nonce!: Hex | null | undefined;
}

/** Typed data for a wallet. */
@ObjectType("SignableTypedData", {
  description: "Typed data (EIP-712) for a wallet to sign with `eth_signTypedData_v4`, exactly as it is.",
  simpleResolvers: true,
})
export class SignableTypedDataType implements Signable {
  @Field(() => JsonScalar, { description: "The typed data." })
  typedData!: Signable["typedData"];

  @Field(() => Hash32Scalar, { description: "The hash that it comes to." })
  hash!: Hex;

  @Field(() => Hash32Scalar, { description: "Its nonce." })
  nonce!: Hex;

  @Field(() => [String], { description: "What whoever signs it should know." })
  warnings!: readonly string[];
}

/** What speaks against an order or an offer. */
@ObjectType("MarketProblem", {
  description: "What speaks against an order or an offer.",
  simpleResolvers: true,
})
export class MarketProblemType {
  @Field(() => String, { description: "What the contract says: the name of its error, or its text." })
  refusal!: string;

  @Field(() => String, { description: "What that means here." })
  text!: string;
}

/** Whether something signed is good. */
@ObjectType("MarketSignatureCheck", {
  description: "Who signed an order or an offer, and whether the market would take it now.",
  simpleResolvers: true,
})
export class MarketSignatureCheckType {
  @Field(() => Hash32Scalar, { description: "The hash that was to be signed." })
  hash!: Hex;

  @Field(() => AddressScalar, {
    nullable: true,
    description:
      "The address recovered from the signature: an unrelated one if the signed data differs, null without a signature.",
  })
  signer!: Hex | null;

  @Field(() => Boolean, { description: "Whether nothing speaks against it." })
  isGood!: boolean;

  @Field(() => [MarketProblemType], { description: "What speaks against it." })
  problems!: readonly MarketProblemType[];

  @Field(() => [String], { description: "What whoever relies on it should know." })
  warnings!: readonly string[];
}

/** An order to be signed. */
export function toNewOrder({ nonce, ...order }: MarketOrderInput): NewOrder {
  return {
    tokenId: BigInt(order.tokenId),
    expectedPrice: BigInt(order.expectedPrice),
    currency: order.currency ?? null,
    expireTime: BigInt(order.expireTime),
    receiver: order.receiver ?? null,
    nonce: nonce ?? undefined,
  };
}

/** An offer to be signed. */
export function toNewOffer({ nonce, ...offer }: MarketOfferInput): NewOffer {
  return {
    tokenId: BigInt(offer.tokenId),
    offerPrice: BigInt(offer.offerPrice),
    expireTime: BigInt(offer.expireTime),
    needProof: offer.needProof,
    nonce: nonce ?? undefined,
  };
}

/** An order that is signed. Throws `invalid_parameter` without its nonce. */
export function toSignedOrder(input: MarketOrderInput): MarketOrder {
  return { ...toNewOrder(input), nonce: nonceOf(input, "order.nonce") };
}

/** An offer that is signed. Throws `invalid_parameter` without its nonce. */
export function toSignedOffer(input: MarketOfferInput): MarketOffer {
  return { ...toNewOffer(input), nonce: nonceOf(input, "offer.nonce") };
}

/** A check as the graph shows it. */
export function toSignatureCheck({ signer, ...check }: SignatureCheck): MarketSignatureCheckType {
  return { ...check, signer: signer ?? null, isGood: check.problems.length === 0 };
}

function nonceOf({ nonce }: { readonly nonce: Hex | null | undefined }, param: string): Hex {
  if (nonce) return nonce;
  throw new AppError("invalid_parameter", "What is signed has a nonce, which must be given.", { param });
}
