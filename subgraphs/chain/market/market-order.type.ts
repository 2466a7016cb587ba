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
  "The nonce, which can be used once across all accounts. Default: a fresh one. Required for data that is already " +
  "signed.";
const EXPIRE_TIME = "The last second of validity, as Unix time by the chain's clock.";

/** How a payment in the network's token is made. */
export const MarketPayment = defineEnum<Payment>(
  "MarketPayment",
  "How a payment in the network's token is made.",
  {
    [PAYMENTS[0]]: "Sent with the transaction by its sender.",
    [PAYMENTS[1]]: "Taken from the buyer's balance in the market.",
  },
);

/** An order. */
@InputType("MarketOrderInput", {
  description: "An order, to be signed by the seller. Names and units are those of the market's contract.",
})
export class MarketOrderInput {
  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: string;

  @Field(() => BigIntScalar, {
    description: "The minimum price of an offer, in the smallest unit of the currency.",
  })
  expectedPrice!: string;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The ERC-20 contract to be paid in. Default: the network's token.",
  })
  currency!: Hex | null | undefined;

  @Field(() => BigIntScalar, { description: EXPIRE_TIME })
  expireTime!: string;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The only account that may buy. Default: any account.",
  })
  receiver!: Hex | null | undefined;

  @Field(() => Hash32Scalar, { nullable: true, description: NONCE })
  nonce!: Hex | null | undefined;
}

/** An offer. */
@InputType("MarketOfferInput", {
  description:
    "An offer, to be signed by the buyer: a price without a currency. Names and units are those of the market's contract.",
})
export class MarketOfferInput {
  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: string;

  @Field(() => BigIntScalar, { description: "The price, in the smallest unit of the order's currency." })
  offerPrice!: string;

  @Field(() => BigIntScalar, { description: EXPIRE_TIME })
  expireTime!: string;

  @Field(() => Boolean, {
    defaultValue: true,
    description: "Whether the token must be transferred with its sealed keys.",
  })
  needProof!: boolean;

  @Field(() => Hash32Scalar, { nullable: true, description: NONCE })
  nonce!: Hex | null | undefined;
}

/** Typed data for a wallet. */
@ObjectType("SignableTypedData", {
  description: "Typed data (EIP-712) for a wallet to sign unchanged with `eth_signTypedData_v4`.",
  simpleResolvers: true,
})
export class SignableTypedDataType implements Signable {
  @Field(() => JsonScalar, { description: "The typed data." })
  typedData!: Signable["typedData"];

  @Field(() => Hash32Scalar, { description: "The hash of the typed data." })
  hash!: Hex;

  @Field(() => Hash32Scalar, { description: "The nonce in the typed data." })
  nonce!: Hex;

  @Field(() => [String], { description: "Warnings for the signer." })
  warnings!: readonly string[];
}

/** A problem with an order or an offer. */
@ObjectType("MarketProblem", { description: "A problem with an order or an offer.", simpleResolvers: true })
export class MarketProblemType {
  @Field(() => String, { description: "The contract's error, by its name or its text." })
  refusal!: string;

  @Field(() => String, { description: "What the error means." })
  text!: string;
}

/** The check of a signed order or offer. */
@ObjectType("MarketSignatureCheck", {
  description: "The signer of an order or an offer, and whether the market would accept it now.",
  simpleResolvers: true,
})
export class MarketSignatureCheckType {
  @Field(() => Hash32Scalar, { description: "The hash of the order or offer." })
  hash!: Hex;

  @Field(() => AddressScalar, {
    nullable: true,
    description:
      "The address recovered from the signature. An unrelated address if the signed data differs, null if the " +
      "signature is invalid.",
  })
  signer!: Hex | null;

  @Field(() => Boolean, { description: "Whether there are no problems." })
  valid!: boolean;

  @Field(() => [MarketProblemType], { description: "The problems found." })
  problems!: readonly MarketProblemType[];

  @Field(() => [String], { description: "Warnings for anyone who relies on the signature." })
  warnings!: readonly string[];
}

/** Maps the input to an order to sign. */
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

/** Maps the input to an offer to sign. */
export function toNewOffer({ nonce, ...offer }: MarketOfferInput): NewOffer {
  return {
    tokenId: BigInt(offer.tokenId),
    offerPrice: BigInt(offer.offerPrice),
    expireTime: BigInt(offer.expireTime),
    needProof: offer.needProof,
    nonce: nonce ?? undefined,
  };
}

/** Maps the input to a signed order. Throws `invalid_parameter` without a nonce. */
export function toSignedOrder(input: MarketOrderInput): MarketOrder {
  return { ...toNewOrder(input), nonce: nonceOf(input, "order.nonce") };
}

/** Maps the input to a signed offer. Throws `invalid_parameter` without a nonce. */
export function toSignedOffer(input: MarketOfferInput): MarketOffer {
  return { ...toNewOffer(input), nonce: nonceOf(input, "offer.nonce") };
}

/** Maps a check to its GraphQL type. */
export function toSignatureCheck({ signer, ...check }: SignatureCheck): MarketSignatureCheckType {
  return { ...check, signer: signer ?? null, valid: check.problems.length === 0 };
}

function nonceOf({ nonce }: { readonly nonce: Hex | null | undefined }, param: string): Hex {
  if (nonce) return nonce;
  throw new AppError("invalid_parameter", "A signed order or offer requires its nonce.", { param });
}
